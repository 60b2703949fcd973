import { eventId, threadId } from "@awaken/contract";
import { eventCursor, type StoredEvent } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { Bell } from "./listeners.ts";
import { follow, type LogReader } from "./subscription.ts";

const event = (seq: number): StoredEvent => ({
  ...{ schemaVersion: 1, kind: "k", payload: { seq }, visibility: "public", origin: "test", threadId: threadId("t1"), createdAt: 1 },
  eventId: eventId(`e${seq}`),
  cursors: { thread: eventCursor(`t${seq}.e${seq}`) },
});

/** A log in which these numbers are kept and `last` was the newest. */
const logWith = (kept: readonly number[], last: number): LogReader => ({
  after: async (seq) => kept.filter((each) => each > seq).map((each) => ({ seq: each, event: event(each) })),
  bounds: async () => ({ first: kept[0], last }),
});

async function read(reader: LogReader, from: number, type: "thread" | "run" = "thread"): Promise<readonly number[]> {
  const leave = new AbortController();
  const bell = new Bell([leave.signal]);
  const seen: number[] = [];
  const gone: true[] = [];
  const events = follow({ reader, log: { type, id: "1" }, from, bell, signal: leave.signal, leave: () => gone.push(true) });
  setTimeout(() => leave.abort(), 10);
  try {
    for await (const { payload } of events) seen.push(Number(payload["seq"]));
  } finally {
    expect(gone).toEqual([true]);
  }
  return seen;
}

describe("following a log", () => {
  test("gives every event after the start once, then waits", async () => {
    expect(await read(logWith([1, 2, 3], 3), 0)).toEqual([1, 2, 3]);
    expect(await read(logWith([4, 5], 5), 4)).toEqual([5]);
    expect(await read(logWith([], 0), 0)).toEqual([]);
    expect(await read(logWith([], 7), 7)).toEqual([]);
  });

  test("events that were swept before they were read are cursor_expired", async () => {
    const expired = expect.objectContaining({ code: "cursor_expired" });
    await expect(read(logWith([5, 6], 6), 2)).rejects.toEqual(expired);
    await expect(read(logWith([], 6), 2)).rejects.toEqual(expired);
  });

  test("a log that was deleted, or began again, is cursor_expired", async () => {
    await expect(read(logWith([], 0), 3)).rejects.toEqual(expect.objectContaining({ code: "cursor_expired" }));
    await expect(read(logWith([1], 1), 3)).rejects.toEqual(expect.objectContaining({ code: "cursor_expired" }));
  });

  test("an event that is missing inside what is kept of a thread is data_integrity; in the log of a run it went with another thread", async () => {
    await expect(read(logWith([1, 2, 4], 4), 1)).rejects.toEqual(expect.objectContaining({ code: "data_integrity" }));
    expect(await read(logWith([1, 2, 4], 4), 1, "run")).toEqual([2, 4]);
    await expect(read(logWith([4], 4), 1, "run")).rejects.toEqual(expect.objectContaining({ code: "cursor_expired" }));
  });
});
