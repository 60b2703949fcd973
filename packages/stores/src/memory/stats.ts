import type { QueueStoreStats } from "@awaken/contract/store";
import { countDispatches } from "./dispatch-rows.ts";
import type { EventBatch } from "./event-batch.ts";
import { recordsIn } from "./records.ts";
import { countRuns } from "./run-queries.ts";
import type { Tables } from "./tables.ts";

/** Rows that are weighed for the estimate of bytes. */
const SAMPLE = 50;

interface Rows {
  readonly count: number;
  readonly bytes: number;
}

/** What a row takes beside its fields: its place in a map or a log, and in the view of a thread. */
const ROW_BYTES = 64;
/** A run has a log of its events. */
const RUN_BYTES = 320;
/** An event shares most of what it takes with those that were appended with it. */
const EVENT_BYTES = 64;

/**
 * About what a value takes in an engine: eight bytes for a field, one for most characters. What stands at several places is kept once:
 * `seen` is all that was weighed before.
 */
function weigh(value: unknown, seen: Set<unknown>): number {
  if (typeof value === "number") return Math.abs(value) < 2 ** 31 ? 0 : 16;
  if ((typeof value !== "string" && typeof value !== "object") || value === null || seen.has(value)) return 0;
  seen.add(value);
  if (typeof value === "string") return 16 + 8 * Math.ceil(value.length / 8);
  const items = Object.values(value);
  let bytes = (Array.isArray(value) ? 48 : 24) + 8 * items.length;
  for (const item of items) bytes += weigh(item, seen);
  return bytes;
}

/** Counts rows, and estimates their bytes by the first ones. */
function measure(seen: Set<unknown>, rows: Iterable<unknown>, own = ROW_BYTES): Rows {
  let count = 0;
  let sampled = 0;
  for (const row of rows) if (++count <= SAMPLE) sampled += own + weigh(row, seen);
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

function* payloads(batch: EventBatch): Iterable<unknown> {
  for (let index = 0; index < batch.count; index++) yield batch.payloadAt(index);
}

/** Each event once, although it may stand in two logs. */
function* events(tables: Tables): Iterable<unknown> {
  for (const { events } of tables.threads.values()) for (const batch of events?.batches ?? []) yield* payloads(batch);
  for (const { batches } of tables.runEvents.values()) for (const batch of batches) if (batch.thread === undefined) yield* payloads(batch);
}

export function statsOf(tenants: readonly Tables[]): QueueStoreStats {
  const seen = new Set<unknown>();
  const of = (rowsOf: (own: Tables) => Iterable<unknown>, bytes?: number) => measure(seen, each(tenants, rowsOf), bytes);
  const tables = {
    threads: of((own) => threadRows(own, ({ record }) => (record === undefined ? [] : [record]))),
    messages: of((own) => threadRows(own, ({ messages }) => messages)),
    pending: of((own) => threadRows(own, ({ pending }) => pending)),
    states: of((own) => threadRows(own, ({ state }) => (state === undefined ? [] : [state]))),
    runs: of((own) => recordsIn(own.runs), RUN_BYTES),
    events: of(events, EVENT_BYTES),
    dispatches: of((own) => own.dispatches.values()),
    streamCheckpoints: of((own) => values(own.streamCheckpoints.values())),
    ledger: of((own) => own.ledger.values()),
    wishes: of((own) => own.wishes.values()),
    profiles: of((own) => values(own.profiles.values())),
    config: of((own) => values(own.config.values())),
  };
  return {
    threads: tables.threads.count,
    messages: tables.messages.count,
    runs: countRuns(each(tenants, (own) => recordsIn(own.runs))),
    pending: tables.pending.count,
    events: tables.events.count,
    dispatches: countDispatches(each(tenants, (own) => own.dispatches.values())),
    streamCheckpoints: tables.streamCheckpoints.count,
    ledger: tables.ledger.count,
    wishes: tables.wishes.count,
    profiles: tables.profiles.count,
    config: tables.config.count,
    bytes: Object.values(tables).reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
