import { AwakenError } from "@awaken/contract";
import {
  clampLimit,
  type EventCursor,
  type EventScope,
  type EventStart,
  type EventStore,
  eventDraft,
  type StoredEvent,
} from "@awaken/contract/store";
import type { EventBatch, RowLog } from "./event-batch.ts";
import { enter, leave } from "./event-log.ts";
import { appendEvents, openLog, readAll } from "./events.ts";
import { changed, positionOf, readAfter } from "./log-reads.ts";
import { copies } from "./own.ts";
import type { Access, Tables } from "./tables.ts";

/** Rows that a subscriber takes at a time. */
const BATCH = 64;

/** `outer`: what is followed goes on when the call is over. */
export function eventPort({ read, write }: Access, outer: Access): EventStore {
  return {
    append: (appends) =>
      write((change) => {
        for (const { draft } of appends) eventDraft.check(draft);
        return readAll(appendEvents(change, appends, { copies, row: undefined }));
      }),

    list: (scope, { after, visibilities, limit }) =>
      read((tables) => {
        const log = logOf(tables, scope);
        const size = clampLimit(limit);
        const items: StoredEvent[] = [];
        for (const [batch, index] of eventsAfter(log, after)) {
          if (visibilities !== undefined && !visibilities.includes(batch.headAt(index).visibility)) continue;
          if (items.length === size) return { items, ...nextOf(items.at(-1)?.cursors[scope.type]) };
          items.push(batch.read(index));
        }
        return { items };
      }),

    loadHead: (scope) => read((tables) => logOf(tables, scope)?.head),

    subscribe: (scope, from, { signal }) =>
      write(({ tables }) => {
        const log = openLog(tables, scope);
        const position = startOf(log, from);
        enter(log);
        return follow(outer, log, position, signal);
      }),
  };
}

function logOf(tables: Tables, scope: EventScope): RowLog | undefined {
  return scope.type === "thread" ? tables.threads.get(scope.threadId)?.events : tables.runEvents.get(scope.runId);
}

const nextOf = (next: EventCursor | undefined) => (next === undefined ? undefined : { next });

function eventsAfter(log: RowLog | undefined, cursor: EventCursor | undefined): Iterable<readonly [batch: EventBatch, index: number]> {
  if (log !== undefined) return readAfter(log, cursor === undefined ? log.first - 1 : positionOf(log, cursor));
  if (cursor === undefined) return [];
  throw new AwakenError("cursor_expired", `event cursor '${cursor}' is unknown or expired`);
}

function startOf(log: RowLog, from: EventStart): number {
  switch (from.type) {
    case "start":
      return log.first - 1;
    case "after":
      return positionOf(log, from.cursor);
    case "now":
      return log.last;
  }
}

async function* follow(
  { read, closing }: Access,
  log: RowLog,
  start: number,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent, void, undefined> {
  const signals = [signal, closing];
  let position = start;
  try {
    while (!signal.aborted) {
      const { rows, change } = await read(() => {
        const found: (readonly [batch: EventBatch, index: number])[] = [];
        for (const event of readAfter(log, position)) if (found.push(event) === BATCH) break;
        // Listening begins in the same moment as reading ends, so that nothing falls between the two.
        return { rows: found, change: found.length === 0 ? changed(log, signals) : undefined };
      });
      for (const [batch, index] of rows) {
        if (signal.aborted) return;
        position = batch.firstIn(log.type) + index;
        yield batch.read(index);
      }
      await change;
    }
  } finally {
    leave(log);
  }
}
