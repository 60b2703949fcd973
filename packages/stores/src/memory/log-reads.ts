import { AwakenError } from "@awaken/contract";
import type { EventCursor } from "@awaken/contract/store";
import type { EventLog, Stretch } from "./event-log.ts";
import type { Journal } from "./journal.ts";

/** Nothing would be lost with it. */
export const isIdle = <Batch extends Stretch>({ batches, audience }: EventLog<Batch>): boolean =>
  batches.length === 0 && (audience?.count ?? 0) === 0;

/** Where the cursor stands; `cursor_expired` unless its event is kept here. */
export function positionOf<Batch extends Stretch>(log: EventLog<Batch>, cursor: EventCursor): number {
  const position = Number(cursor.slice(log.tag.length + 1));
  const batch = log.batches[batchOf(log, position)];
  if (batch !== undefined && position >= batch.firstIn(log.type) && log.cursorAt(position) === cursor) return position;
  throw expired(`event cursor '${cursor}' is unknown or expired`);
}

/** The events after a position that a reader has reached; `cursor_expired` when some behind it are gone. */
export function* readAfter<Batch extends Stretch>(
  log: EventLog<Batch>,
  position: number,
): Generator<readonly [batch: Batch, index: number], void, undefined> {
  if (log.isDeleted || position + 1 < log.first) throw expired("events were deleted before they were read");
  const { batches } = log;
  let index = position + 1;
  for (let at = batchOf(log, position + 1); at < batches.length; at++) {
    const batch = batches[at];
    if (batch === undefined) return;
    const first = batch.firstIn(log.type);
    index = Math.max(index, first);
    for (; index < first + batch.count; index++) yield [batch, index - first];
  }
}

/** Takes away what went with a deleted thread; the others keep their positions. */
export function removeFrom<Batch extends Stretch>(log: EventLog<Batch>, isGone: (batch: Batch) => boolean, journal: Journal): void {
  journal.keepField<EventLog<Batch>, "batches">(log, "batches", log.batches);
  journal.keepField<EventLog<Batch>, "removed">(log, "removed", log.removed);
  log.removed = log.last;
  log.batches = log.batches.filter((batch) => !isGone(batch));
}

/** Takes away the oldest events as long as `isOld` says so. */
export function purge<Batch extends Stretch>(log: EventLog<Batch>, isOld: (batch: Batch) => boolean): readonly Batch[] {
  const found = log.batches.findIndex((batch) => !isOld(batch));
  const { last } = log;
  const purged = log.batches.splice(0, found === -1 ? log.batches.length : found);
  if (purged.length > 0) log.first = log.batches[0]?.firstIn(log.type) ?? last + 1;
  return purged;
}

/** Its readers get `cursor_expired`. */
export function markDeleted<Batch extends Stretch>(log: EventLog<Batch>): void {
  log.isDeleted = true;
  log.wake();
}

/** Resolves at the next append that stays, or when a signal aborts. */
export function changed<Batch extends Stretch>(log: EventLog<Batch>, signals: readonly AbortSignal[]): Promise<void> {
  log.audience ??= { count: 0, wakes: new Set() };
  const { wakes } = log.audience;
  return new Promise((resolve) => {
    const wake = () => {
      wakes.delete(wake);
      for (const signal of signals) signal.removeEventListener("abort", wake);
      resolve();
    };
    wakes.add(wake);
    for (const signal of signals) signal.addEventListener("abort", wake);
    if (signals.some((signal) => signal.aborted)) wake();
  });
}

/** Which batch holds the position; behind the last one for a position that is yet to come. */
function batchOf<Batch extends Stretch>({ batches, type }: EventLog<Batch>, position: number): number {
  let low = 0;
  let high = batches.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const batch = batches[middle];
    if (batch !== undefined && batch.firstIn(type) + batch.count <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

const expired = (message: string): AwakenError => new AwakenError("cursor_expired", message);
