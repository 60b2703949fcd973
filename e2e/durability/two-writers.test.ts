import { join } from "node:path";
import { threadId } from "@awaken/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runChild } from "./support/child.ts";
import { freshSchema, type Server, startServer, tempFolder } from "./support/databases.ts";
import { eventsOf, expectValidLog, logOf } from "./support/history.ts";
import { openStore, type Place } from "./support/place.ts";
import type { Ready, WriterOrder, Written } from "./writer-process.ts";

const WRITERS = ["left", "right"];
const COMMITS = 500;
const THREAD = "shared";
const START = { type: "start" };

/** Both begin when both are there. Gives how often each was refused. */
async function write(place: Place): Promise<ReadonlyMap<string, number>> {
  const conflicts = new Map<string, number>();
  const file = join(import.meta.dirname, "writer-process.ts");
  const start = Promise.withResolvers<object>();
  const ready = new Set<string>();
  const onMessage = (message: Ready | Written) => {
    if (message.type === "written") {
      conflicts.set(message.name, message.conflicts);
      return undefined;
    }
    ready.add(message.name);
    if (ready.size === WRITERS.length) start.resolve(START);
    return start.promise;
  };
  // Each waits for the other one, so that one that fails would leave the other waiting for ever.
  const failure = new AbortController();
  await Promise.allSettled(
    WRITERS.map((name) => {
      const order: WriterOrder = { place, thread: THREAD, name, commits: COMMITS };
      const ended = runChild<Ready | Written>({ file, order, signal: failure.signal, onMessage });
      return ended.catch((thrown: unknown) => failure.abort(thrown));
    }),
  );
  failure.signal.throwIfAborted();
  return conflicts;
}

async function expectNoneLost(place: Place, conflicts: ReadonlyMap<string, number>): Promise<void> {
  for (const name of WRITERS) expect(conflicts.get(name), name).toBeGreaterThan(0);
  await using store = await openStore(place);
  const rows = await logOf(store, threadId(THREAD));
  expectValidLog(rows, THREAD);
  const ids = rows.map((row) => String(row.message.id));
  for (const name of WRITERS) {
    const own = ids.filter((id) => id.startsWith(name));
    expect(own).toEqual(Array.from({ length: COMMITS }, (_, index) => `${name}-${index}`));
  }
  expect(ids).toHaveLength(WRITERS.length * COMMITS);
  expect((await eventsOf(store, threadId(THREAD))).map(({ payload }) => payload["message"])).toEqual(ids);
}

describe("two processes that write to one thread", () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const title = `server-and-durability 10: of ${WRITERS.length * COMMITS} conflicting commits none is lost, none is doubled, and all are in order`;

  test(`${title}, on SQLite`, async () => {
    using folder = tempFolder();
    const place: Place = { type: "sqlite", file: join(folder.path, "shared.db") };
    await expectNoneLost(place, await write(place));
  });

  test(`${title}, on PostgreSQL`, async () => {
    await using schema = freshSchema(server.url);
    const place: Place = { type: "postgres", url: server.url, schema: schema.name };
    await expectNoneLost(place, await write(place));
  });
});
