import { join } from "node:path";
import { messageText, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Stepped, StepsOrder } from "./steps-process.ts";
import { runChild } from "./support/child.ts";
import { freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { openStore, type Place } from "./support/place.ts";

const THREAD = "t";
const STEPS = 1_500;
/** Checkpoints between the first commit and the last: else nobody looked while somebody wrote. */
const LOOKS = 100;

/** Every part of a checkpoint names the commit that it is of. Gives that number. */
async function look(store: Store): Promise<number> {
  const seen = await store.threads.loadHead(threadId(THREAD));
  if (seen === undefined) return 0;
  const { messages, messageCount, latestRun, openRun, state, thread } = seen;
  const last = messages.at(-1);
  expect({
    rows: messages.length,
    seq: last?.seq,
    text: last === undefined ? "" : messageText(last.message),
    latest: latestRun?.steps,
    open: openRun?.steps,
    state: state?.revision,
    watermark: thread.latestRun?.updatedAt,
  }).toEqual({
    ...{ rows: messageCount, seq: messageCount, text: `${messageCount}`, latest: messageCount, open: messageCount },
    ...{ state: messageCount, watermark: messageCount },
  });
  return messageCount;
}

async function lookWhileAnotherProcessWrites(place: Place): Promise<void> {
  await using store = await openStore(place);
  const order: StepsOrder = { place, thread: THREAD, steps: STEPS };
  const stop = new AbortController();
  let isWriting = true;
  const writing = runChild<Stepped>({ file: join(import.meta.dirname, "steps-process.ts"), order, signal: stop.signal }).finally(() => {
    isWriting = false;
  });
  writing.catch(() => {});
  const between = new Set<number>();
  try {
    while (isWriting) {
      const count = await look(store);
      if (count > 0 && count < STEPS) between.add(count);
      await new Promise(setImmediate);
    }
  } finally {
    stop.abort();
  }
  await writing;
  expect(await look(store)).toBe(STEPS);
  expect(between.size).toBeGreaterThan(LOOKS);
}

describe("a checkpoint that is loaded while another process commits", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const title = "server-and-durability 73: loadHead never mixes two commits while another process writes";

  test(`${title}, on SQLite`, async () => {
    using folder = tempFolder();
    await lookWhileAnotherProcessWrites({ type: "sqlite", file: join(folder.path, "steps.db") });
  });

  test(`${title}, on PostgreSQL`, async () => {
    await using schema = freshSchema(server.url);
    const place: Place = { type: "postgres", url: server.url, schema: schema.name };
    await lookWhileAnotherProcessWrites(place);
  });
});
