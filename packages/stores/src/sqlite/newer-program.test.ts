import { DatabaseSync } from "node:sqlite";
import { AwakenError } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { append, T1, T2, user } from "../conformance/records.ts";
import { fileOf, openTestStore } from "./test-store.ts";

const TOO_NEW = { code: "storage_too_new", details: { found: 99 } };

async function openAndMigrate(sql: string) {
  const store = openTestStore();
  await store.commit(append(0, [user("m1")]));
  const newer = new DatabaseSync(fileOf(store));
  newer.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = 99; COMMIT`);
  newer.close();
  return store;
}

describe("a newer program migrates the file that this one has open", () => {
  test("what cannot be read is storage_too_new, and so is everything from then on", async () => {
    await using store = await openAndMigrate("ALTER TABLE message RENAME COLUMN record TO body");
    await expect(store.messages.list(T1, {})).rejects.toMatchObject(TOO_NEW);
    await expect(store.threads.load(T1)).rejects.toMatchObject(TOO_NEW);
    await expect(store.threads.create({ id: T2 })).rejects.toMatchObject(TOO_NEW);
    await expect(store.transaction(() => Promise.resolve())).rejects.toMatchObject(TOO_NEW);
  });

  test("a record that only the newer one can read is not taken for a damaged one", async () => {
    await using store = await openAndMigrate("UPDATE thread SET record = '{}'");
    await expect(store.threads.load(T1)).rejects.toMatchObject(TOO_NEW);
  });

  test("nothing is written any more, although the tables would take it", async () => {
    await using store = await openAndMigrate("UPDATE thread SET updated_at = updated_at + 1");
    const writes = [store.threads.create({ id: T2 }), store.commit(append(1, [user("m2")])), store.transaction(() => Promise.resolve())];
    const ends = await Promise.allSettled(writes);
    expect(ends.map((end) => end.status === "rejected" && AwakenError.is(end.reason) && end.reason.code)).toEqual(
      writes.map(() => "storage_too_new"),
    );
    await expect(store.threads.load(T1)).rejects.toMatchObject(TOO_NEW);
    const file = new DatabaseSync(fileOf(store));
    expect(file.prepare("SELECT (SELECT count(*) FROM thread) AS threads, (SELECT count(*) FROM message) AS messages").get()).toEqual({
      threads: 1,
      messages: 1,
    });
    file.close();
  });
});
