import { AwakenError } from "../error.ts";
import type { RunId, ThreadId } from "../ids.ts";
import type { NewDispatch } from "./dispatch-transitions.ts";
import { eventDraft } from "./event-records.ts";
import type { EventAppend } from "./events.ts";
import type { NewPending } from "./pending.ts";
import { areUnique } from "./unique.ts";

/**
 * What a commit puts on another thread in its own transaction: a message for another agent, a wake, an event for whoever follows. The
 * thread need not exist: as with `pending.append` and `enqueue`, the run that takes it makes it.
 */
export interface Outbound {
  /** Delivered once, whatever commits name it. */
  readonly id: string;
  readonly threadId: ThreadId;
  /** Who it is for. Nothing of it is delivered when that run is not on record: it went with its thread, and another one by the same id is not told. */
  readonly forRun?: RunId;
  /** A message that is pending or in the log already is left out. */
  readonly pending?: readonly NewPending[];
  /** Left out when its id is known, also of the commit's own dispatch or of one before it, or an open dispatch of that thread holds its dedupe key. */
  readonly dispatch?: NewDispatch;
  readonly events?: readonly EventAppend[];
}

const isText = (value: unknown): boolean => typeof value === "string" && value.trim() !== "";

/** `storage_validation`, or `capability_mismatch` for parts of a queue in a store that has none. */
export function checkOutbound(items: readonly Outbound[], from: ThreadId, hasQueue: boolean): void {
  const refuse = (why: string) => new AwakenError("storage_validation", `outbound of thread '${from}': ${why}`);
  if (!areUnique(items, (item) => item.id)) throw refuse("an id is there twice");
  for (const { id, threadId, pending, dispatch, events = [] } of items) {
    if (!isText(id) || !isText(threadId)) throw refuse("ids must be non-blank");
    if (threadId === from) throw refuse(`'${id}' is for the thread of the commit itself`);
    if (dispatch !== undefined && dispatch.threadId !== threadId) throw refuse(`the dispatch of '${id}' is of another thread`);
    for (const { draft } of events) {
      if (eventDraft.check(draft).threadId !== threadId) throw refuse(`an event of '${id}' is of another thread`);
    }
    if (hasQueue || (pending === undefined && dispatch === undefined)) continue;
    throw new AwakenError("capability_mismatch", `outbound '${id}': this store has no queue`, { details: { id } });
  }
}

/** The threads that a commit touches, in the order in which every store locks them. */
export const touchedThreads = (from: ThreadId, items: readonly Outbound[] = []): readonly ThreadId[] =>
  items.length === 0 ? [from] : [...new Set([from, ...items.map((item) => item.threadId)])].sort();
