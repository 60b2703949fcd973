import { DatabaseSync } from "node:sqlite";
import { messageId } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { append, T1, T2, user } from "../conformance/records.ts";
import { fileOf, openTestStore, reopenTestStore } from "./test-store.ts";

const of = (thread: typeof T1, count: number, ids: readonly string[]) => ({
  ...append(
    count,
    ids.map((id) => user(id)),
  ),
  threadId: thread,
});

describe("the places of messages", () => {
  test("keep threads apart and logs in order, also past the numbers that a program can count to", async () => {
    await using store = openTestStore();
    for (const id of [T1, T2]) await store.threads.create({ id });
    const db = new DatabaseSync(fileOf(store));
    db.exec(
      `UPDATE thread SET number = 2147483646 WHERE thread_id = '${T1}'; UPDATE thread SET number = 2147483647 WHERE thread_id = '${T2}'`,
    );
    db.close();
    await store.commit(of(T1, 0, ["a1", "a2"]));
    await store.commit(of(T2, 0, ["b1"]));
    await store.commit(of(T1, 2, ["a3"]));
    const ids = async (query: Parameters<typeof store.messages.list>[1]) =>
      (await store.messages.list(T1, query)).items.map(({ seq, message }) => `${seq} ${message.id}`);
    expect(await ids({})).toEqual(["1 a1", "2 a2", "3 a3"]);
    expect(await ids({ afterSeq: 1, order: "descending" })).toEqual(["3 a3", "2 a2"]);
    expect(await ids({ beforeSeq: 3, limit: 1 })).toEqual(["1 a1"]);
    for (const none of [{ afterSeq: 3 }, { afterSeq: 2 ** 40 }, { beforeSeq: 1 }, { beforeSeq: -1 }]) expect(await ids(none)).toEqual([]);
    expect(await ids({ beforeSeq: 2 ** 40, afterSeq: -5 })).toHaveLength(3);
    expect(await store.messages.load(T2, [messageId("a1"), messageId("b1")])).toMatchObject([{ threadId: T2, seq: 1 }]);
    await store.threads.delete(T1, "detach");
    expect([await ids({}), await store.messages.count(T2)]).toEqual([[], 1]);
    await store.commit(of(T1, 0, ["a1"]));
    expect(await ids({})).toEqual(["1 a1"]);
  });
});

describe("a thread without a number, made by an older program that has the file open", () => {
  const COLUMNS = "updated_at, message_count, folded, run_count, record";
  const WITHOUT_NUMBER = `DROP TRIGGER thread_has_number; UPDATE thread SET number = NULL WHERE thread_id = '${T2}';`;

  const OLDER_TABLES = `DROP INDEX thread_activity; DROP INDEX thread_resource; DROP INDEX thread_parent; ALTER TABLE thread DROP COLUMN half_minute;
    CREATE INDEX thread_activity ON thread (scope_id, updated_at DESC, thread_id);
    CREATE INDEX thread_resource ON thread (scope_id, resource_id) WHERE resource_id IS NOT NULL;
    CREATE INDEX thread_parent ON thread (scope_id, parent_thread_id) WHERE parent_thread_id IS NOT NULL;
    DROP INDEX event_run; DROP INDEX event_stretch; ALTER TABLE event DROP COLUMN begins;
    CREATE UNIQUE INDEX event_run ON event (scope_id, run_id, run_seq) WHERE run_id IS NOT NULL; DROP INDEX dispatch_queued;`;

  function withFile(file: string, sql: string): void {
    const db = new DatabaseSync(file);
    try {
      db.exec(sql);
    } finally {
      db.close();
    }
  }

  async function openWithTwo() {
    const store = openTestStore();
    for (const id of [T1, T2]) await store.threads.create({ id });
    await store.commit(of(T1, 0, ["a1"]));
    return store;
  }

  const logOf = async ({ messages }: ReturnType<typeof openTestStore>, id: typeof T1) =>
    (await messages.list(id, {})).items.map(({ message }) => message.id);

  test("cannot be made", async () => {
    await using store = await openWithTwo();
    const sql = `INSERT INTO thread (scope_id, thread_id, ${COLUMNS}) SELECT scope_id, 'old', ${COLUMNS} FROM thread WHERE thread_id = '${T2}'`;
    expect(() => withFile(fileOf(store), sql)).toThrow("newer version");
    expect(await store.threads.count({})).toBe(2);
  });

  test("has one after the next opening, and a log of its own", async () => {
    await using store = await openWithTwo();
    withFile(fileOf(store), `${WITHOUT_NUMBER} ${OLDER_TABLES} PRAGMA user_version = 8`);
    await using again = await reopenTestStore(store, Date.now);
    await again.commit(of(T2, 0, ["b1"]));
    expect([await logOf(again, T1), await logOf(again, T2)]).toEqual([["a1"], ["b1"]]);
  });

  test("takes no message: it would be in the log of another one", async () => {
    await using store = await openWithTwo();
    withFile(fileOf(store), WITHOUT_NUMBER);
    await expect(store.commit(of(T2, 0, ["b1"]))).rejects.toMatchObject({ code: "data_integrity" });
    expect([await logOf(store, T1), await store.messages.count(T2), (await store.stats()).messages]).toEqual([["a1"], 0, 1]);
  });
});
