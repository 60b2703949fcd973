import { type AttachedEvent, systemClock } from "@awaken/runtime";
import { expect, test } from "vitest";
import { writeReply } from "./deliver.ts";
import { EventStreams } from "./streams.ts";

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

test("a reader who left before his stream began holds nothing", async () => {
  const streams = new EventStreams(systemClock, 10);
  const { events, left } = silent();
  const outgoing = {
    destroyed: true,
    writableLength: 0,
    socket: null,
    writeHead() {},
    flushHeaders() {},
    write: () => false,
    end() {},
    destroy() {},
    on() {},
  };
  const refuse = () => ({ error: "", code: "" });
  writeReply(streams, { outgoing, sent: new Response() }, { status: 200, headers: {}, body: { events, refuse } });
  await left;
  expect(streams.size).toBe(0);
});
