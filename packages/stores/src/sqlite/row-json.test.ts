import { DatabaseSync } from "node:sqlite";
import { type JsonObject, messageId, runId, toJson } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { append, dispatch, event, R1, R2, R3, runs, T1, user } from "../conformance/records.ts";
import { fileOf, openTestStore } from "./test-store.ts";

const message = { ...user("m1"), metadata: { runId: R1 } };

const usual = (kind: string) => event(kind, { origin: "runtime" });

/** One of each kind whose JSON leaves out what its columns say. */
async function fill(store: QueueStore): Promise<void> {
  const other = { ...user("m2"), metadata: { runId: runId("r9"), stepIndex: 2 } };
  const run = runs.running({ parentRunId: R2, rootRunId: R3 });
  await store.commit(append(0, [message, other, user("m3")], { run, events: [usual("run-started"), usual("run-finished")] }));
  await store.dispatches.enqueue(dispatch("d1", { dedupeKey: "once", priority: 3, availableAt: 5 }));
}

const readAll = async (store: QueueStore) => ({
  run: await store.runs.load(R1),
  dispatch: await store.dispatches.list(T1, {}),
  message: (await store.messages.list(T1, {})).items,
  event: (await store.events.list({ type: "run", runId: R1 }, {})).items,
});

const tables = ["run", "dispatch", "message", "event"] as const;

function withDatabase<T>(store: QueueStore, work: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(fileOf(store));
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const textsOf = (store: QueueStore) =>
  withDatabase(store, (db) =>
    tables.flatMap((table) =>
      db
        .prepare(`SELECT record FROM ${table}`)
        .all()
        .map((row) => String(row["record"])),
    ),
  );

describe("the JSON of a row", () => {
  test("says nothing that a column says, and is plain JSON", async () => {
    await using store = openTestStore();
    await fill(store);
    const texts = textsOf(store);
    expect(texts).toHaveLength(6);
    for (const text of texts) {
      expect(() => JSON.parse(text)).not.toThrow();
      for (const said of ['"m1","role', '"m2","role', '"r9"', `"${T1}"`, '"d1"', '"once"', '"public"'])
        expect(text).not.toContain(`:${said}`);
    }
    expect((await store.messages.load(T1, [messageId("m1")]))[0]?.message).toEqual(message);
  });

  test("of an older version, with all of it, is read as the same record", async () => {
    await using store = openTestStore();
    await fill(store);
    const before = await readAll(store);
    const whole: Record<string, JsonObject[]> = JSON.parse(
      JSON.stringify(toJson(before.run === undefined ? {} : { ...before, run: [before.run] })),
    );
    withDatabase(store, (db) => {
      for (const table of ["run", "dispatch", "message"]) {
        for (const [index, record] of (whole[table] ?? []).entries()) {
          db.prepare(`UPDATE ${table} SET record = ? WHERE rowid = (SELECT rowid FROM ${table} ORDER BY rowid LIMIT 1 OFFSET ?)`).run(
            JSON.stringify(record),
            index,
          );
        }
      }
      const events = before.event.map(
        ({ eventId: _id, cursors: _cursors, createdAt: _at, threadId: _thread, runId: _run, ...body }) => body,
      );
      db.prepare("UPDATE event SET record = ?").run(JSON.stringify({ events }));
    });
    expect(textsOf(store).join()).toContain('"once"');
    expect(await readAll(store)).toEqual(before);
  });
});
