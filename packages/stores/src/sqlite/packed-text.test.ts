import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { R1, runs, T1, user } from "../conformance/records.ts";
import { messageRow } from "../sql/columns.ts";
import { runValues } from "../sql/run-row.ts";
import { packedMessages, packedRuns, unpackRow } from "./packed-rows.ts";
import { pack, unpack } from "./packed-text.ts";
import { PHRASES } from "./phrases.ts";
import { sqliteStore } from "./store.ts";

const ids = fc.array(fc.oneof(fc.uuid(), fc.string(), fc.constantFrom("", "1", "runtime", "content", "\u0001\u001f0")), { maxLength: 14 });
const parts = fc.array(fc.oneof(fc.constantFrom(...PHRASES), fc.string({ unit: "binary" })), { maxLength: 12 });

describe("packed text", () => {
  test("gives back any JSON, whatever is in it and whatever the row's own values are", () => {
    fc.assert(
      fc.property(fc.jsonValue(), ids, parts, (value, own, said) => {
        const json = JSON.stringify({ value, own, said: said.join(own[0] ?? ""), [own[1] ?? "key"]: own });
        expect(unpack(pack(json, own), own)).toBe(json);
      }),
      { numRuns: 500 },
    );
  });

  test("of what is plain JSON is that JSON", () => {
    const json = JSON.stringify({ text: "\u0000\u0001\u001e \u001f0", list: [1, "runtime"] });
    expect(unpack(json, ["a", "b"])).toBe(json);
  });

  test("says phrases and the row's own values in a character or two", () => {
    expect(pack('{"type":"text","text":"hello"}', [])).toBe('\u000chello"}');
    expect(pack('{"x":"0123456789","y":"0123456789"}', ["", "0123456789"])).toBe('{"x":"\u001f1","y":"\u001f1"}');
  });

  test("of a typical row is less than half of its JSON", () => {
    const run = { ...runs.done(), ordinal: 1 };
    expect(packedRuns.packRecord(runValues(run), { rows: "packed" }).length).toBeLessThan(JSON.stringify(run).length / 2);
    const { values } = messageRow(
      { schemaVersion: 1, threadId: run.threadId, seq: 1, createdAt: 1, message: { ...user("m1"), metadata: { runId: R1, stepIndex: 0 } } },
      1_000,
    );
    expect(packedMessages.packRecord(values, { rows: "packed" }).length).toBeLessThan(String(values[5]).length / 2);
  });
});

describe("phrases", () => {
  test("that files out there are packed with stay what they are", () => {
    const released = PHRASES.slice(0, 108);
    expect(createHash("sha256").update(JSON.stringify(released)).digest("hex").slice(0, 16)).toBe("c459ace4b2bc00d0");
  });

  test("are each there once, have no control characters, and fit the room that codes have", () => {
    expect(new Set(PHRASES).size).toBe(PHRASES.length);
    expect(PHRASES.length).toBeLessThanOrEqual(124);
    for (const phrase of PHRASES) expect(phrase).toMatch(/^[ -~]{4,}$/);
  });
});

describe("a row", () => {
  test("of a store with plain rows is JSON that anybody can read, and both forms are read from one file", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "awaken-plain-")), "a.db");
    const write = async (rows: "plain" | "packed", ...ids: readonly string[]) => {
      await using store = sqliteStore(file, { rows });
      const count = (await store.threads.loadCheckpoint(T1))?.messageCount ?? 0;
      await store.commit({ threadId: T1, runId: R1, messageDelta: { messages: ids.map((id) => user(id)), expectedMessageCount: count } });
    };
    await write("packed", "m1");
    await write("plain", "m2");
    const db = new DatabaseSync(file);
    const texts = db
      .prepare("SELECT record FROM message ORDER BY seq")
      .all()
      .map((row) => String(row["record"]));
    db.close();
    expect(() => JSON.parse(texts[0] ?? "")).toThrow();
    expect(JSON.parse(texts[1] ?? "")).toMatchObject({ message: { id: "m2" } });
    await using store = sqliteStore(file);
    expect((await store.messages.list(T1, {})).items.map(({ message }) => message.id)).toEqual(["m1", "m2"]);
    rmSync(dirname(file), { recursive: true });
  });

  test("of a table that is not packed is left alone", () => {
    const row = { record: "\u0001" };
    expect(unpackRow("thread", row)).toBe(row);
  });
});
