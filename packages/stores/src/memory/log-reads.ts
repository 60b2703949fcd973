import { AwakenError } from "@awaken/contract";
import type { EventCursor } from "@awaken/contract/store";
import type { EventLog, Stretch } from "./event-log.ts";
import type { Journal } from "./journal.ts";

/** Nothing would be lost with it. */
export const isIdle = <Batch extends Stretch>({ tail, audience }: EventLog<Batch>): boolean =>
  tail === undefined && (audience?.count ?? 0) === 0;

/** Where the cursor stands; `cursor_expired` unless its event is kept here. */
export function positionOf<Batch extends Stretch>(log: EventLog<Batch>, cursor: EventCursor): number {
  const position = Number(cursor.slice(log.tag.length + 1));
  const batch = batchAt(log, batchOf(log, position));
  if (batch !== undefined && position >= batch.firstIn(log.type) && log.cursorAt(position) === cursor) return position;
  throw expired(`event cursor '${cursor}' is unknown or expired`);
}

/** The events after a position that a reader has reached; `cursor_expired` when some behind it are gone. */
export function* readAfter<Batch extends Stretch>(
  log: EventLog<Batch>,
  position: number,
): Generator<readonly [batch: Batch, index: number], void, undefined> {
  if (log.isDeleted || position + 1 < log.first) throw expired("events were deleted before they were read");
  let index = position + 1;
  let at = batchOf(log, position + 1);
  for (let batch = batchAt(log, at); batch !== undefined; batch = batchAt(log, ++at)) {
    const first = batch.firstIn(log.type);
    index = Math.max(index, first);
    for (; index < first + batch.count; index++) yield [batch, index - first];
  }
}

/** Takes away what went with a deleted thread; the others keep their positions. */
export function removeFrom<Batch extends Stretch>(log: EventLog<Batch>, isGone: (batch: Batch) => boolean, journal: Journal): void {
  journal.keepField<EventLog<Batch>, "tail">(log, "tail", log.tail);
  journal.keepField<EventLog<Batch>, "older">(log, "older", log.older);
  journal.keepField<EventLog<Batch>, "removed">(log, "removed", log.removed);
  log.removed = log.last;
  setBatches(
    log,
    log.batches.filter((batch) => !isGone(batch)),
  );
}

function setBatches<Batch extends Stretch>(log: EventLog<Batch>, batches: readonly Batch[]): void {
  log.tail = batches.at(-1);
  log.older = batches.slice(0, -1);
}

/** Takes away the oldest events `oldIn` says how many there are in a batch, `rest` is one without them. Gives the batches that lost some. */
export function purge<Batch extends Stretch>(
  log: EventLog<Batch>,
  oldIn: (batch: Batch) => number,
  rest: (batch: Batch) => Batch,
): readonly Batch[] {
  const { batches, last, type } = log;
  const found = batches.findIndex((batch) => oldIn(batch) < batch.count);
  const whole = found === -1 ? batches.length : found;
  const purged = batches.slice(0, whole);
  const partly = batches[whole];
  if (partly !== undefined && oldIn(partly) > 0) {
    purged.push(partly);
    batches[whole] = rest(partly);
  }
  if (purged.length === 0) return purged;
  log.first = batches[whole]?.firstIn(type) ?? last + 1;
  setBatches(log, batches.slice(whole));
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
function batchOf<Batch extends Stretch>(log: EventLog<Batch>, position: number): number {
  let low = 0;
  let high = log.tail === undefined ? 0 : log.older.length + 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const batch = batchAt(log, middle);
    if (batch !== undefined && batch.firstIn(log.type) + batch.count <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

const batchAt = <Batch extends Stretch>({ older, tail }: EventLog<Batch>, index: number): Batch | undefined =>
  index === older.length ? tail : older[index];

const expired = (message: string): AwakenError => new AwakenError("cursor_expired", message);
