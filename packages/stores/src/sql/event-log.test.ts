import { runId, threadId } from "@awaken/contract";
import { type EventAppend, type EventCursor, eventCursor } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { createEnv } from "./env.ts";
import { EMPTY_LOG, type EventReads, planEvents, readCursor } from "./event-log.ts";

const T1 = threadId("t1");
const R1 = runId("r1");
let ids = 0;
const env = createEnv({ clock: () => 100, ids: () => `b${++ids}` }, new AbortController().signal);
const empty: EventReads = { known: () => undefined, head: () => EMPTY_LOG };
const draft = (kind: string) => ({ schemaVersion: 1, kind, payload: {}, visibility: "public", origin: "test" }) as const;
const both = (kind: string): EventAppend => ({ draft: { ...draft(kind), threadId: T1, runId: R1 } });

describe("numbering", () => {
  test("events of the same logs that follow each other are one row", () => {
    const { events, batches } = planEvents([both("a"), both("b"), { draft: { ...draft("c"), runId: R1 } }, both("d")], empty, env);
    expect(batches.map(({ threadSeq, runSeq, drafts }) => [threadSeq, runSeq, drafts.length])).toEqual([
      [1, 1, 2],
      [undefined, 3, 1],
      [3, 4, 1],
    ]);
    expect(events.map(({ cursors }) => [cursors.thread?.slice(0, 3), cursors.run?.slice(0, 3)])).toEqual([
      ["t1.", "r1."],
      ["t2.", "r2."],
      [undefined, "r3."],
      ["t3.", "r4."],
    ]);
    expect(new Set(events.map((event) => event.eventId)).size).toBe(4);
  });

  test("times of a log never go back, whatever a clock says", () => {
    const ahead: EventReads = { ...empty, head: ({ type }) => ({ lastSeq: 3, lastAt: type === "run" ? 500 : 50 }) };
    expect(planEvents([both("a"), both("b")], ahead, env).events.map((event) => event.createdAt)).toEqual([500, 500]);
  });
});

describe("cursors", () => {
  test("name the number of their event, and fit only their own kind of log", () => {
    const [event] = planEvents([both("a")], empty, env).events;
    const cursor: EventCursor = event?.cursors.thread ?? expect.fail();
    expect(readCursor("thread", cursor)).toBe(1);
    expect(() => readCursor("run", cursor)).toThrow(expect.objectContaining({ code: "cursor_expired" }));
  });

  test.each(["x", "t0.e", "t-1.e", "t1", "t1.", "t99999999999999999.e", "t1e3.e", "%"])("%s is none of ours", (text) => {
    expect(() => readCursor("thread", eventCursor(text))).toThrow(expect.objectContaining({ code: "cursor_expired" }));
  });
});
