import { createServer as createNodeServer } from "node:http";
import { createClient } from "@awaken/client";
import { type AttachedEvent, createRuntime, defineTool } from "@awaken/runtime";
import { createServer, defineProtocol, nodeListener, serve } from "@awaken/server";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test, vi } from "vitest";
import * as z from "zod";
import { openAgent } from "../protocols/support/agent.ts";
import { openNode, quiet } from "../relay/support/speaker.ts";
import { busy } from "./support/busy.ts";
import { ask, openServer, readFrames, request, textOf } from "./support/client.ts";
import { held } from "./support/named.ts";

test("while the last steps are awaited, whoever follows and whoever comes is sent elsewhere, and nothing is logged", async () => {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const own = defineTool({
    id: "own",
    description: "Takes its time.",
    input: z.object({ of: z.string() }),
    async execute() {
      begun.resolve();
      await gate.promise;
      return "blue";
    },
  });
  const errors: string[] = [];
  const log = { ...quiet, error: (message: string) => void errors.push(message) };
  const server = await serve(held({ runtime: openAgent(memoryStore(), { tools: [own] }), port: 0, log, graceMs: 600_000 }));
  const json = { method: "POST", headers: { "content-type": "application/json" } };
  const submit = (threadId: string) => ({
    ...json,
    body: JSON.stringify({ agentId: "assistant", threadId, messages: [{ role: "user", content: "own say" }] }),
  });
  const reading = readFrames(await fetch(`${server.url}/v1/runs`, submit("t")));
  await begun.promise;
  const closing = server.close();
  const paths = ["/v1/threads/t/events/stream", "/v1/ai-sdk/chat/t/stream", "/v1/ag-ui/threads/t/stream", "/v1/threads/t"];
  const answers = await Promise.all([
    ...paths.map((path) => fetch(`${server.url}${path}`)),
    fetch(`${server.url}/v1/runs`, submit("other")),
  ]);
  for (const answer of answers) {
    expect([answer.status, answer.headers.get("retry-after")], answer.url).toEqual([503, "1"]);
    expect(await answer.json()).toMatchObject({ code: "shutting_down" });
  }
  expect((await reading).at(-1)?.data.type).not.toBe("run-end");
  gate.resolve();
  await closing;
  expect(errors).toEqual([]);
});

test("a run that is left in mid-answer is no failure: whoever runs the server reads nothing of it, and another process ends it", async () => {
  await using store = memoryStore();
  const said: string[] = [];
  const note = (message: string) => void said.push(message);
  const log = { ...quiet, error: note, warn: note };
  const server = await serve(held({ runtime: openNode(store, { workers: true, log }), port: 0, log }));
  const body = JSON.stringify({ agentId: "assistant", threadId: "t", messages: [{ role: "user", content: "slow" }] });
  const response = await fetch(`${server.url}/v1/runs`, { method: "POST", headers: { "content-type": "application/json" }, body });
  await readFrames(response, ({ data }) => data.type === "text-delta");
  await server.close();
  expect(said).toEqual([]);
  await using other = openNode(store, { workers: true });
  expect(await other.wait(response.headers.get("x-run-id") ?? "")).toMatchObject({ status: "done", steps: 1 });
});

/** Protocols whose readers take an end for the whole, and what they are asked for. */
function openSpoken(last: () => string | undefined) {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  async function* events(): AsyncGenerator<AttachedEvent, void, undefined> {
    yield { type: "text-delta", delta: "so" };
    await new Promise(() => {});
  }
  const encoder = {
    encode: (event: AttachedEvent) => (event.type === "text-delta" ? `data: ${event.delta}\n\n` : ""),
    end: last,
    fail: () => "data: failed\n\n",
  };
  const row = { method: "GET", gate: "invoke", summary: "Speaks.", answer: { type: "frames", of: "words" }, errors: [] } as const;
  const spoken = defineProtocol(
    "spoken",
    { now: { ...row, path: "/now" }, late: { ...row, path: "/late" } },
    {
      now: async () => ({ events: events(), encoder }),
      async late() {
        asked.resolve();
        await gate.promise;
        return { events: events(), encoder };
      },
    },
  );
  const runtime = createRuntime({ agents: {}, store: memoryStore(), workers: false });
  return { server: createServer(held({ runtime, access: "open", only: spoken, log: quiet })), runtime, asked: asked.promise, gate };
}

test("a server that leaves says the last words of a protocol; a stream of which nothing was told is cut, and has no end", async () => {
  const { server, runtime, asked, gate } = openSpoken(() => "data: [END]\n\n");
  await using _ = runtime;
  const response = await server.fetch(new Request("http://localhost/now"));
  const late = server.fetch(new Request("http://localhost/late"));
  await asked;
  await server.close();
  expect(await response.text()).toBe("data: so\n\ndata: [END]\n\n");
  gate.resolve();
  await expect((await late).text()).rejects.toThrow("broke off");
});

test("a stream that is cut says nothing past the log in an application of its own on Node", async () => {
  const { server, runtime } = openSpoken(() => undefined);
  await using _ = runtime;
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  const node = createNodeServer(nodeListener(server));
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  const address = node.address();
  const port = typeof address === "object" ? address?.port : expect.fail();
  const [reader, other] = await Promise.all([1, 2].map(() => fetch(`http://127.0.0.1:${port}/now`)));
  await other?.body?.cancel();
  const reading = expect(reader?.text()).rejects.toThrow("terminated");
  await server.close();
  await reading;
  const closed = new Promise((resolve) => node.close(resolve));
  node.closeAllConnections();
  await closed;
  expect(said.mock.calls).toEqual([]);
  said.mockRestore();
});

test("a server is closed and its runtime is not: open streams end behind a whole frame, runs go on, and whoever followed them does so at another server", async () => {
  await using store = memoryStore();
  const { runtime, response: own, release, runId: id } = await busy(store);
  await using _ = runtime;
  const [first, second] = [1, 2].map(() => openServer({ runtime, metrics: true }));
  if (first === undefined || second === undefined) return expect.fail();
  let here = first;
  const told: string[] = [];
  const client = createClient({ url: "http://localhost", fetch: (asked) => here.fetch(asked) });
  const following = (async () => {
    for await (const event of client.attach(id)) told.push(event.type === "text-delta" ? event.delta : event.type);
  })();
  const paths = [`/v1/runs/${id}/events/stream`, "/v1/threads/t/events/stream", "/v1/threads/t/events/stream?from=now"];
  const open = await Promise.all(paths.map((path) => first.fetch(request("GET", path))));
  const reading = open.map((response) => readFrames(response));
  const streams = async () => String((await ask(first, "GET", "/metrics")).body["body"]).match(/^awaken_sse_connections (\d+)/m)?.[1];
  await expect.poll(streams).toBe("4");
  here = second;
  await first.close();
  for (const frames of await Promise.all(reading))
    expect(frames.filter(({ event, data }) => event === "error" || data.type === "run-end")).toEqual([]);
  await expect.poll(streams).toBe("0");
  expect(await ask(first, "GET", paths[0] ?? "")).toMatchObject({ status: 503, body: { code: "shutting_down" } });
  expect(await ask(second, "GET", `/v1/runs/${id}`)).toMatchObject({ body: { status: "running" } });
  // Streams of another server of this runtime do not notice.
  release();
  expect(textOf(await readFrames(own))).toContain("five.");
  await following;
  expect(told.filter((type) => type === "run-end")).toHaveLength(1);
  expect(told.join("").match(/one two three/g)).toHaveLength(1);
  expect(await runtime.wait(id)).toMatchObject({ status: "done" });
  await second.close();
});
