import type { StoreStats } from "@awaken/contract";
import { countDispatches } from "./dispatches.ts";
import type { RowLog } from "./event-row.ts";
import { countRuns } from "./runs.ts";
import type { Tables } from "./tables.ts";

/** Rows that are weighed for the estimate of bytes. */
const SAMPLE = 50;

interface Rows {
  readonly count: number;
  readonly bytes: number;
}

/** What a row takes beside its fields: its place in a map or a log. */
const ROW_BYTES = 48;
/** An event stands in two logs, and shares its target with others. */
const EVENT_BYTES = 160;

/** About what the value takes in an engine: eight bytes for a field, one for most characters. */
function weigh(value: unknown): number {
  if (typeof value === "string") return 16 + value.length;
  if (typeof value !== "object" || value === null) return 0;
  const items = Object.values(value);
  let bytes = (Array.isArray(value) ? 48 : 24) + 8 * items.length;
  for (const item of items) bytes += weigh(item);
  return bytes;
}

/** Counts rows, and estimates their bytes by the first ones. */
function measure(rows: Iterable<unknown>, own = ROW_BYTES): Rows {
  let count = 0;
  let sampled = 0;
  for (const row of rows) if (++count <= SAMPLE) sampled += own + weigh(row);
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
function* events(tables: Tables): Iterable<unknown> {
  const of = (logs: ReadonlyMap<unknown, RowLog>) => [...logs.values()].flatMap((log) => log.rows);
  for (const row of of(tables.threadEvents)) yield row.payload;
  for (const row of of(tables.runEvents)) if (row.place.thread === undefined) yield row.payload;
}

export function statsOf(tenants: readonly Tables[]): StoreStats {
  const tables = {
    threads: measure(each(tenants, (own) => threadRows(own, ({ record }) => (record === undefined ? [] : [record])))),
    messages: measure(each(tenants, (own) => threadRows(own, ({ messages }) => messages))),
    pending: measure(each(tenants, (own) => threadRows(own, ({ pending }) => pending))),
    states: measure(each(tenants, (own) => threadRows(own, ({ state }) => (state === undefined ? [] : [state])))),
    runs: measure(each(tenants, (own) => own.runs.values())),
    events: measure(each(tenants, events), EVENT_BYTES),
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
