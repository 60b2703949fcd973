import { describe, expect, test } from "vitest";
import { eventId } from "../ids.ts";
import { eventDraft, storedEvent } from "./event-records.ts";
import { type EventDraft, eventCursor, isSameEvent, type StoredEvent } from "./events.ts";
import { R1, R2, T1 } from "./test-records.ts";

const refused = (code: string) => expect.objectContaining({ code });
const draft: EventDraft = {
  schemaVersion: 1,
  threadId: T1,
  runId: R1,
  kind: "run-started",
  payload: { a: [1], b: null },
  visibility: "public",
  origin: "loop",
  causationId: "c",
  correlationId: "x",
};
const stored: StoredEvent = {
  ...draft,
  eventId: eventId("e1"),
  cursors: { thread: eventCursor("1"), run: eventCursor("2") },
  createdAt: 5,
};

test("server-and-durability 58: another origin is the same event, another payload is not", () => {
  expect(isSameEvent(draft, { ...draft, origin: "mailbox" })).toBe(true);
  expect(isSameEvent(stored, draft)).toBe(true);
  expect(isSameEvent(draft, { ...draft, payload: { b: null, a: [1] } })).toBe(true);
  const others: readonly EventDraft[] = [
    { ...draft, payload: { a: [2], b: null } },
    { ...draft, kind: "run-ended" },
    { ...draft, visibility: "audit" },
    { ...draft, causationId: "z" },
    { ...draft, runId: R2 },
  ];
  for (const other of others) expect(isSameEvent(draft, other)).toBe(false);
});

test("server-and-durability 57: a blank cursor is an input error", () => {
  expect(() => eventCursor(" ")).toThrow(refused("invalid_id"));
  expect(eventCursor("anything")).toBe("anything");
});

describe("records", () => {
  const { threadId: _t, ...runOnly } = draft;
  const { runId: _r, ...threadOnly } = draft;

  test("belong to a thread, a run or both, with one cursor for each", () => {
    for (const each of [draft, runOnly, threadOnly]) expect(eventDraft.check(each)).toEqual(each);
    expect(storedEvent.read(stored, "e1")).toEqual(stored);
    const { thread, run } = stored.cursors;
    const { threadId: _, ...runEvent } = stored;
    expect(storedEvent.read({ ...runEvent, cursors: { run } }, "e1")).toMatchObject({ runId: "r1" });
    expect(() => storedEvent.read({ ...stored, cursors: { thread } }, "e1")).toThrow(refused("storage_corrupt"));
    expect(() => storedEvent.read({ ...runEvent, cursors: { run, thread } }, "e1")).toThrow(refused("storage_corrupt"));
  });

  const { threadId: _a, runId: _b, ...nowhere } = draft;
  test.each([
    ["no scope", nowhere],
    ["a blank kind", { ...draft, kind: " " }],
    ["a blank origin", { ...draft, origin: "" }],
    ["schema version 0", { ...draft, schemaVersion: 0 }],
    ["an unknown visibility", { ...draft, visibility: "secret" }],
    ["a payload that is no object", { ...draft, payload: [] }],
    ["a payload that is not JSON", { ...draft, payload: { at: new Date(0) } }],
    ["a blank thread", { ...draft, threadId: " " }],
  ])("refuse %s", (_, hostile) => {
    expect(() => eventDraft.check(hostile)).toThrow(refused("storage_validation"));
  });
});
