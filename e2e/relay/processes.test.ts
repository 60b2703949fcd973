import { join } from "node:path";
import { threadId } from "@awaken/contract";
import type { AttachedEvent } from "@awaken/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runChild } from "../durability/support/child.ts";
import { freshSchema, type Server, startServer, tempFolder } from "../durability/support/databases.ts";
import { openStore, type Place } from "../durability/support/place.ts";
import { factsOf, Reader } from "./support/reader.ts";
import { openNode } from "./support/speaker.ts";
import type { WorkerOrder } from "./worker-process.ts";

const FILE = join(import.meta.dirname, "worker-process.ts");

/** Everything happens in other processes; this one only follows. */
async function follow(place: Place): Promise<readonly AttachedEvent[]> {
  const work = (order: WorkerOrder["work"]) => runChild({ file: FILE, order: { place, work: order } satisfies WorkerOrder });
  await using store = await openStore(place);
  await using runtime = openNode(store);
  await store.threads.create({ id: threadId("t") });
  const follower = new Reader(runtime.attach("t"));
  const ends = (count: number) => () => follower.events.filter(({ type }) => type === "run-end").length >= count;

  const first = work({ type: "run", input: "effect approve slow" });
  const opened = await follower.until(({ type }) => type === "ticket-open", 120_000);
  const waiting = await follower.until(ends(1));
  await first;
  expect(waiting).toBeDefined();
  const ticket = opened.type === "ticket-open" ? opened.ticket.id : "";
  expect((await store.runs.listByTicket(opened.type === "ticket-open" ? opened.ticket.id : expect.fail()))[0]?.status).toBe("waiting");

  const second = work({ type: "decide", ticket });
  await follower.until(ends(2), 120_000);
  await second;
  const third = work({ type: "run", input: "slow" });
  await follower.until(ends(3), 120_000);
  // When whoever follows sees the end, it is on record.
  const end = follower.events.findLast((event) => event.type === "run-end");
  const run = end?.type === "run-end" ? end.runId : expect.fail();
  expect((await store.runs.load(run))?.status).toBe("done");
  expect((await store.events.list({ type: "run", runId: run }, { limit: 200 })).items.at(-1)?.kind).toBe("run-finished");
  await third;

  const again = new Reader(runtime.attach("t"));
  await again.until(() => again.events.filter(({ type }) => type === "run-end").length >= 3);
  const seen = await follower.leave();
  expect(factsOf(seen)).toEqual(factsOf(await again.leave()));
  const types = factsOf(seen).map(({ type }) => type);
  expect(types.filter((type) => type === "run-start")).toHaveLength(3);
  expect(types.filter((type) => type === "decision-taken" || type === "tool-call-resumed")).toEqual([
    "decision-taken",
    "tool-call-resumed",
  ]);
  return seen;
}

/** The pieces in which the last answer came. */
const piecesOf = (events: readonly AttachedEvent[]): number =>
  events.slice(events.findLastIndex(({ type }) => type === "step-start")).filter(({ type }) => type === "text-delta").length;

const TITLE =
  "server-and-durability 75 and 19: attach to a thread goes on over a suspension, the decision made in another process, and the next run; each event once, and on record when it is seen";

describe("other processes", { timeout: 120_000 }, () => {
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test(`${TITLE} (PostgreSQL, where deltas come as they are said)`, async () => {
    await using schema = freshSchema(server.url);
    const seen = await follow({ type: "postgres", url: server.url, schema: schema.name });
    expect(piecesOf(seen)).toBeGreaterThan(1);
  });

  test(`${TITLE} (SQLite, where commits come)`, async () => {
    using folder = tempFolder();
    const seen = await follow({ type: "sqlite", file: join(folder.path, "awaken.db") });
    expect(piecesOf(seen)).toBe(1);
  });
});
