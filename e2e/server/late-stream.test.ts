import { type AttachedEvent, createRuntime } from "@awaken/runtime";
import { fakeClock } from "@awaken/runtime/testing";
import { createServer, defineProtocol } from "@awaken/server";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import { held } from "./support/named.ts";

/** Events that never come, and whether somebody let go of them. */
function silent() {
  const left = Promise.withResolvers<void>();
  const events: AsyncIterator<AttachedEvent> = {
    next: () => new Promise(() => {}),
    async return() {
      left.resolve();
      return { done: true, value: undefined };
    },
  };
  return { events, left: left.promise };
}

test("a stream that is there after the request had no more time is let go of", async () => {
  const clock = fakeClock(0);
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { events, left } = silent();
  const late = defineProtocol(
    "late",
    { late: { method: "GET", path: "/late", gate: "invoke", summary: "Late.", answer: { type: "events" }, errors: [] } },
    {
      async late() {
        asked.resolve();
        await gate.promise;
        return { events };
      },
    },
  );
  await using store = memoryStore();
  await using runtime = createRuntime({ agents: {}, store, workers: false });
  const server = createServer(held({ runtime, access: "open", only: late, clock, limits: { requestMs: 1_000 } }));
  const answer = server.fetch(new Request("http://localhost/late"));
  await asked.promise;
  await clock.advance(1_000);
  expect((await answer).status).toBe(504);
  gate.resolve();
  await left;
  await server.close();
});

test("a server that is closed while its runtime stays open ends its streams, also those that begin late", async () => {
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const late = silent();
  const early = silent();
  let left = 0;
  const onLeft = () => {
    left += 1;
  };
  const rows = {
    early: { method: "GET", path: "/early", gate: "invoke", summary: "Early.", answer: { type: "events" }, errors: [] },
    late: { method: "GET", path: "/late", gate: "invoke", summary: "Late.", answer: { type: "events" }, errors: [] },
  } as const;
  const both = defineProtocol("both", rows, {
    early: async () => ({ events: early.events, onLeft }),
    async late() {
      asked.resolve();
      await gate.promise;
      return { events: late.events, onLeft, runId: "r" };
    },
  });
  await using store = memoryStore();
  await using runtime = createRuntime({ agents: {}, store, workers: false });
  const server = createServer(held({ runtime, access: "open", only: both }));
  const open = await server.fetch(new Request("http://localhost/early"));
  const coming = server.fetch(new Request("http://localhost/late"));
  await asked.promise;
  await server.close();
  expect(await open.text()).toBe("");
  await early.left;
  gate.resolve();
  // Its run was begun: the reader is told which it is, and comes back elsewhere.
  const answer = await coming;
  expect([answer.status, answer.headers.get("x-run-id"), await answer.text()]).toEqual([200, "r", ""]);
  await late.left;
  // The server has ended them; nobody went.
  expect(left).toBe(0);
  expect((await server.fetch(new Request("http://localhost/early"))).status).toBe(503);
});

test("who goes before the end of his stream is told of, once", async () => {
  const { events, left } = silent();
  const gone: string[] = [];
  const row = { method: "GET", path: "/", gate: "invoke", summary: "Silent.", answer: { type: "events" }, errors: [] } as const;
  const quiet = defineProtocol("quiet", { row }, { row: async () => ({ events, onLeft: () => void gone.push("left") }) });
  await using store = memoryStore();
  await using runtime = createRuntime({ agents: {}, store, workers: false });
  const server = createServer(held({ runtime, access: "open", only: quiet }));
  const response = await server.fetch(new Request("http://localhost/"));
  await response.body?.cancel();
  await left;
  expect(gone).toEqual(["left"]);
  await server.close();
  expect(gone).toEqual(["left"]);
});
