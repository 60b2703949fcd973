import { threadId } from "@awaken/contract";
import { expect, test } from "vitest";
import { codeUnitKey, codeUnitOrder } from "./code-units.ts";
import { afterThread, Conditions, threadConditions } from "./conditions.ts";

test("values never stand in the text, and are numbered as the engine wants it", () => {
  const hostile = "'; DROP TABLE thread; --";
  for (const mark of ["?", "$"] as const) {
    const where = threadConditions(new Conditions(mark).add("scope_id = ?", hostile), {
      resourceId: hostile,
      lineage: { type: "child-of", threadId: threadId(hostile) },
    });
    const tail = afterThread(where, { updatedAt: 1, id: threadId("a") }).bind("LIMIT ?", 3);
    expect(where.where).toBe(
      `WHERE scope_id = ${mark}1 AND resource_id = ${mark}2 AND parent_thread_id = ${mark}3 AND (updated_at < ${mark}4 OR (updated_at = ${mark}5 AND thread_id > ${mark}6))`,
    );
    expect(tail).toBe(`LIMIT ${mark}7`);
    expect(where.values).toEqual([hostile, hostile, hostile, 1, 1, "a", 3]);
  }
});

test("no value at all is a condition that nothing meets", () => {
  expect(new Conditions("?").oneOf("status", []).where).toBe("WHERE 1 = 0");
});

test("keys of texts sort as the texts do in JavaScript", () => {
  const texts = ["", "a", "ab", "b", "ä", "\uffff", "\ud83d\ude00", "\ue000", "Z"];
  expect(texts.toSorted((a, b) => codeUnitOrder(codeUnitKey(a), codeUnitKey(b)))).toEqual(texts.toSorted());
});
