import { once } from "node:events";
import { connect } from "node:net";
import { type AttachedEvent, createRuntime } from "@awaken/runtime";
import { fakeClock } from "@awaken/runtime/testing";
import { defineProtocol, type RunningServer, serve } from "@awaken/server";
import { memoryStore } from "@awaken/stores/memory";
import { expect, test } from "vitest";
import { quiet } from "../relay/support/speaker.ts";
import { held } from "./support/named.ts";

const MB = 1024 * 1024;
/** More than the system takes for a reader who does not read. */
const SIZE = 20 * MB;

const TEXT = "x".repeat(SIZE);

async function* told(): AsyncGenerator<AttachedEvent, void, undefined> {
  yield { type: "text-delta", delta: TEXT };
}

const rows = {
  whole: {
    method: "GET",
    path: "/whole",
    gate: "invoke",
    summary: "All at once.",
    answer: { type: "text", contentType: "text/plain" },
    errors: [],
  },
  told: { method: "GET", path: "/told", gate: "invoke", summary: "As a stream that ends.", answer: { type: "events" }, errors: [] },
  last: {
    method: "GET",
    path: "/last",
    gate: "invoke",
    summary: "As the last words of a stream.",
    answer: { type: "frames", of: "one" },
    errors: [],
  },
} as const;

const encoder = { encode: () => "", end: () => `data: ${TEXT}\n\n`, fail: () => "" };

async function openLarge() {
  const clock = fakeClock(0);
  const large = defineProtocol("large", rows, {
    whole: async () => TEXT,
    told: async () => ({ events: told() }),
    last: async () => ({ events: told(), encoder }),
  });
  const runtime = createRuntime({ agents: {}, store: memoryStore(), workers: false });
  const server = await serve(held({ runtime, port: 0, log: quiet, protocols: [large], clock, metrics: true }));
  const ask = async (path: string) => (await fetch(`${server.url}${path}`)).text();
  /** The server has done what it can do now, and then it is later. */
  const later = async () => {
    await ask("/health/live");
    await ask("/health/live");
    await clock.advance(5_000);
  };
  return { server, later, ask };
}

/** Reads when it is told to. */
async function openReader({ port }: RunningServer, path: string) {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write(`GET /v1/large/${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  const chunks: AsyncIterator<Buffer> = socket[Symbol.asyncIterator]();
  let read = 0;
  return {
    /** At most so much, or until it breaks off. */
    async read(bytes: number): Promise<number> {
      const goal = Math.min(read + bytes, SIZE);
      while (read < goal) {
        const next = await chunks.next().catch(() => ({ done: true, value: undefined }) as const);
        if (next.done) break;
        read += next.value.byteLength;
      }
      return read;
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

test.each(["whole", "told", "last"])(
  "whoever reads nothing of an answer that is there as a whole is dropped, and holds nothing: %s",
  async (path) => {
    const { server, later, ask } = await openLarge();
    await using _ = server;
    using reader = await openReader(server, path);
    expect(await reader.read(1)).toBeGreaterThan(0);
    for (let round = 0; round < 20; round++) await later();
    expect(await ask("/metrics")).toContain("awaken_sse_connections 0");
    expect(await reader.read(SIZE)).toBeLessThan(SIZE);
  },
);

test.each(["whole", "told", "last"])("whoever reads a large answer slowly has all of it, however long that takes: %s", async (path) => {
  const { server, later } = await openLarge();
  await using _ = server;
  using reader = await openReader(server, path);
  let read = 0;
  for (let round = 0; round < 2 * (SIZE / MB) && read < SIZE; round++) {
    read = await reader.read(MB);
    await later();
  }
  expect(read).toBeGreaterThanOrEqual(SIZE);
});
