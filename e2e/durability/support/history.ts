import { type Message, messageToolCalls, type ThreadId } from "@awaken/contract";
import { effectiveMessages, type MessageRecord, type Store, type StoredEvent } from "@awaken/contract/store";
import { expect } from "vitest";

/** The whole log, row by row. */
export async function logOf(store: Store, thread: ThreadId): Promise<readonly MessageRecord[]> {
  const rows: MessageRecord[] = [];
  for (let afterSeq = 0; ; ) {
    const { items, next } = await store.messages.list(thread, { afterSeq, limit: 200, visibility: "all" });
    rows.push(...items);
    if (next === undefined) return rows;
    afterSeq = next;
  }
}

export async function eventsOf(store: Store, thread: ThreadId): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let query: Parameters<Store["events"]["list"]>[1] = { limit: 200 }; ; ) {
    const { items, next } = await store.events.list({ type: "thread", threadId: thread }, query);
    events.push(...items);
    if (next === undefined) return events;
    query = { limit: 200, after: next };
  }
}

/** Rows are numbered without a gap, no message is there twice, and what a model sees has one result for each call, right behind it. */
export function expectValidLog(rows: readonly MessageRecord[], name: string): readonly Message[] {
  expect(
    rows.map((row) => row.seq),
    name,
  ).toEqual(rows.map((_, index) => index + 1));
  expect(new Set(rows.map((row) => row.message.id)).size, name).toBe(rows.length);
  const view = effectiveMessages(rows).map((entry) => entry.message);
  let open: string[] = [];
  for (const message of view) {
    if (message.role === "tool") expect(message.toolCallId, name).toBe(open.shift());
    else {
      expect(open, name).toEqual([]);
      open = messageToolCalls(message).map((call) => call.id);
    }
  }
  expect(open, name).toEqual([]);
  return view;
}
