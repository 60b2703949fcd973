import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, test } from "vitest";
import { ENGINES, openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode } from "../relay/support/speaker.ts";
import { NAMES, pathTo, routeOf, SAMPLES } from "./support/calls.ts";
import { ask, openServer, request } from "./support/client.ts";

afterAll(stopServer);

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

function heldBytes(): number {
  for (let round = 0; round < 4; round++) collect();
  return process.memoryUsage().heapUsed;
}

const HAS = { thread: "none", run: "none", ticket: "none", pending: "none" };
const BODIES = ["{", "[[[[", '{"__proto__":{"x":1}}', JSON.stringify({ messages: "x".repeat(5_000) }), JSON.stringify({ agentId: {} })];

test("hostile requests leave nothing behind: the second half of thousands holds no more than the first", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0], { workers: false });
  const server = openServer({ runtime });
  let asked = 0;
  const half = async (): Promise<number> => {
    for (let round = 0; round < 16; round++) {
      for (const name of NAMES.filter((each) => routeOf(each).gate === "invoke")) {
        const route = routeOf(name);
        for (const body of route.body === undefined ? [undefined] : BODIES) {
          asked += 1;
          const path = `${pathTo(name, { ...HAS, thread: `none-${asked}` })}?unknown-${asked}=${"y".repeat(200)}`;
          const response = await server.fetch(
            request(route.method, path, {
              ...(body === undefined ? {} : { body }),
              headers: { ...SAMPLES[name].headers, "x-request-id": `r-${asked}` },
            }),
          );
          expect(response.status).toBeLessThan(500);
          await response.body?.cancel();
        }
      }
    }
    return heldBytes();
  };
  const before = await half();
  const first = await half();
  const second = await half();
  expect(asked).toBeGreaterThan(5_000);
  expect(first / before).toBeLessThan(1.1);
  expect(second / first).toBeLessThan(1.05);
});

test.each(ENGINES)(
  "server-and-durability 72: metrics never contain the id of a thread, a run or a request, whatever is asked for, on %s",
  async (engine) => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const server = openServer({ runtime, metrics: true });
    const started = await ask(server, "POST", "/v1/runs/start", {
      body: { agentId: "assistant", threadId: "thread-of-ana", messages: [{ role: "user", content: "say" }] },
      headers: { "x-request-id": "request-of-ana" },
    });
    await ask(server, "GET", `/v1/runs/${started.body["runId"]}/result`);
    for (const path of [
      "/v1/threads/thread-of-ana",
      "/v1/threads/thread-of-bob",
      "/v1/nothing/thread-of-ana",
      "/v1/runs?cursor=thread-of-ana",
    ])
      await ask(server, "GET", path);
    const text = await (await server.fetch(request("GET", "/metrics"))).text();
    expect(text).toContain('route="/v1/threads/:id"');
    expect(text).not.toMatch(/thread-of|request-of|thread_id|run_id|assistant/);
    expect(text).not.toContain(String(started.body["runId"]));
  },
);
