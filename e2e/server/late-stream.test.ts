import { type AttachedEvent, createRuntime } from "@awaken/runtime";
import { fakeClock } from "@awaken/runtime/testing";
import { createServer, defineProtocol } from "@awaken/server";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";

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
  const server = createServer({ runtime, access: "open", only: late, clock, limits: { requestMs: 1_000 } });
  const answer = server.fetch(new Request("http://localhost/late"));
  await asked.promise;
  await clock.advance(1_000);
  expect((await answer).status).toBe(504);
  gate.resolve();
  await left;
  await server.close();
});
