import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import pg from "pg";
import { afterAll, describe, expect, test } from "vitest";
import type { RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { open as openScripted } from "./open.test-support.ts";
import { freshSchema, openPostgres, url } from "./stores.test-support.ts";

// A record that was changed behind the back of the store.

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit>) =>
  openScripted(store, turns, { leaseMs: 3_600_000, workers: false, ...init });

interface Damaged {
  /** Opens the same data as another process. */
  open(clock: () => number): QueueStore;
  /** Replaces a piece of the record of the run. */
  damage(runId: string, from: string, to: string): Promise<void>;
}

const folder = mkdtempSync(join(tmpdir(), "awaken-damaged-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function sqlite(): Damaged {
  const file = join(folder, `${freshSchema()}.db`);
  return {
    open: (clock) => sqliteStore(file, { clock }),
    async damage(...[runId, from, to]) {
      const db = new DatabaseSync(file);
      db.prepare("UPDATE run SET record = replace(record, ?, ?) WHERE run_id = ?").run(from, to, runId);
      db.close();
    },
  };
}

function postgres(): Damaged {
  const schema = freshSchema();
  let isFirst = true;
  return {
    open(clock) {
      // The first one is closed last, and takes the schema with it.
      const opened = isFirst ? openPostgres(clock, schema) : postgresStore(url, { schema, connections: 2, clock });
      isFirst = false;
      return opened;
    },
    async damage(...[runId, from, to]) {
      const client = new pg.Client(url);
      await client.connect();
      await client.query(`UPDATE ${schema}.run SET record = replace(record::text, $1, $2)::json WHERE run_id = $3`, [from, to, runId]);
      await client.end();
    },
  };
}

const ENGINES: readonly (readonly [string, () => Damaged])[] = [
  ["sqlite", sqlite],
  ["postgres", postgres],
];

describe.each(ENGINES)("a run whose record cannot be read, on %s", (_, make) => {
  const T = threadId("t");

  test("is a dead letter at its first try", async () => {
    const place = make();
    const clock = fakeClock(10_000);
    await using store = place.open(clock.now);
    await using caller = open(store, [], { clock, limits: { storeMs: 3_600_000 } });
    const { runId } = await caller.start({ thread: T, input: "x" });
    await place.damage(runId, '"status":"created"', '"status":"waiting"');
    await using peer = place.open(clock.now);
    await expect(peer.runs.load(runId)).rejects.toMatchObject({ code: "storage_corrupt" });
    await using worker = open(peer, [], { workers: true, clock, limits: { storeMs: 3_600_000 } });
    await expect.poll(() => peer.dispatches.list(T, {})).toMatchObject([{ status: "dead-letter", attemptCount: 1 }]);
    expect((await worker.deadLetters.list()).items).toMatchObject([{ runId, error: expect.stringContaining(runId) }]);
    // Whoever wants it out of the way can drop it.
    expect(await worker.deadLetters.drop(runId)).toMatchObject({ runId });
    expect((await peer.pending.load(T)).entries).toEqual([]);
    expect((await worker.deadLetters.list()).items).toEqual([]);
  });

  test("because a newer program wrote it, is put back for ten minutes, and a dead letter only then", async () => {
    const place = make();
    const clock = fakeClock(10_000);
    await using store = place.open(clock.now);
    await using caller = open(store, [], { clock, limits: { storeMs: 3_600_000 } });
    const { runId } = await caller.start({ thread: T, input: "x" });
    const [version] = /"schemaVersion":\d+/.exec(JSON.stringify(await store.runs.load(runId))) ?? [];
    await place.damage(runId, version ?? "", '"schemaVersion":999');
    await using peer = place.open(clock.now);
    await expect(peer.runs.load(runId)).rejects.toMatchObject({ code: "storage_too_new" });
    await using _worker = open(peer, [], { workers: true, clock, limits: { storeMs: 3_600_000 } });
    await expect.poll(() => peer.dispatches.list(T, {})).toMatchObject([{ status: "queued", attemptCount: 0, availableAt: 15_000 }]);
    // Time goes on while nobody is at work on it.
    const tried = async () => {
      const rows = await peer.dispatches.list(T, {});
      if (rows[0]?.status === "queued") await clock.advance(60_000);
      return rows;
    };
    await expect.poll(tried).toMatchObject([{ status: "dead-letter", attemptCount: 1 }]);
    expect(clock.now()).toBeGreaterThan(10_000 + 10 * 60_000);
  });
});
