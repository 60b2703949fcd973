import type { StoredEvent, StoreStats } from "@awaken/contract";
import { countDispatches } from "./dispatches.ts";
import type { RowLog } from "./event-row.ts";
import { countRuns } from "./runs.ts";
import type { Tables } from "./tables.ts";

/** Rows whose JSON is measured for the estimate of bytes. */
const SAMPLE = 50;

interface Rows {
  readonly count: number;
  readonly bytes: number;
}

/** Counts rows, and estimates their bytes by the first ones. */
function measure(rows: Iterable<unknown>): Rows {
  let count = 0;
  let sampled = 0;
  for (const row of rows) if (++count <= SAMPLE) sampled += JSON.stringify(row).length * 2;
  return { count, bytes: count === 0 ? 0 : Math.round((sampled / Math.min(count, SAMPLE)) * count) };
}

function* each<T>(tenants: Iterable<Tables>, rowsOf: (tables: Tables) => Iterable<T>): Iterable<T> {
  for (const tables of tenants) yield* rowsOf(tables);
}

function* values<T>(maps: Iterable<ReadonlyMap<unknown, T>>): Iterable<T> {
  for (const map of maps) yield* map.values();
}

function* threadRows<T>(tables: Tables, rowsOf: (row: NonNullable<ReturnType<Tables["threads"]["get"]>>) => Iterable<T>): Iterable<T> {
  for (const row of tables.threads.values()) yield* rowsOf(row);
}

/** Each event once, although it may stand in two logs. */
function* events(tables: Tables): Iterable<StoredEvent> {
  const of = (logs: ReadonlyMap<unknown, RowLog>) => [...logs.values()].flatMap((log) => log.rows);
  for (const row of of(tables.threadEvents)) yield row.read();
  for (const row of of(tables.runEvents)) if (row.place.thread === undefined) yield row.read();
}

export function statsOf(tenants: readonly Tables[]): StoreStats {
  const tables = {
    threads: measure(each(tenants, (own) => threadRows(own, ({ record }) => (record === undefined ? [] : [record])))),
    messages: measure(each(tenants, (own) => threadRows(own, ({ messages }) => messages))),
    pending: measure(each(tenants, (own) => threadRows(own, ({ pending }) => pending))),
    states: measure(each(tenants, (own) => threadRows(own, ({ state }) => (state === undefined ? [] : [state])))),
    runs: measure(each(tenants, (own) => own.runs.values())),
    events: measure(each(tenants, events)),
    dispatches: measure(each(tenants, (own) => own.dispatches.values())),
    streamCheckpoints: measure(each(tenants, (own) => values(own.streamCheckpoints.values()))),
    ledger: measure(each(tenants, (own) => own.ledger.values())),
    profiles: measure(each(tenants, (own) => values(own.profiles.values()))),
    config: measure(each(tenants, (own) => values(own.config.values()))),
  };
  return {
    threads: tables.threads.count,
    messages: tables.messages.count,
    runs: countRuns(each(tenants, (own) => own.runs.values())),
    pending: tables.pending.count,
    events: tables.events.count,
    dispatches: countDispatches(each(tenants, (own) => own.dispatches.values())),
    streamCheckpoints: tables.streamCheckpoints.count,
    ledger: tables.ledger.count,
    profiles: tables.profiles.count,
    config: tables.config.count,
    bytes: Object.values(tables).reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
