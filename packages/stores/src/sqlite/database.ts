import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { AwakenError } from "@awaken/contract";
import type { Row } from "../sql/rows.ts";
import { isBusy, toStorageError } from "./errors.ts";

export interface DatabaseOptions {
  /** `full` (the default) survives a power cut, `normal` may lose the last commits to one; a killed process loses nothing in either. */
  readonly synchronous?: "full" | "normal";
  /** How long to wait for another process that writes. The wait blocks this one. */
  readonly busyTimeoutMs?: number;
  /** What would make the file larger is `storage_io`. */
  readonly maxBytes?: number;
  /** `plain` writes records as JSON, for whoever reads the file with other programs; it is about twice as large. Both can be read. */
  readonly rows?: RowForm;
}

export type RowForm = "packed" | "plain";

/**
 * A checkpoint copies the log into the file and waits for the disk: the fewer, the more often a page that is written by every commit is
 * copied only once. The log is cut back to its limit afterwards. Sizes are in pages of 4 KiB and in KiB.
 */
const SETTINGS = `PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 8000; PRAGMA journal_size_limit = ${32 * 1024 * 1024};
  PRAGMA cache_size = -16000; PRAGMA synchronous = `;

/** One millisecond in which this thread does nothing. */
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);

/** SQLite itself does not wait for a process that is about to turn a new file into one with a log: it refuses at once. */
function applySettings(handle: DatabaseSync, settings: string, busyTimeoutMs: number): void {
  const end = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      handle.exec(settings);
      return;
    } catch (thrown) {
      if (!isBusy(thrown) || performance.now() >= end) throw thrown;
    }
    pause();
  }
}

export type Parameter = string | number | null;

/** Statements of one connection; each is prepared once. */
export interface Connection {
  get(sql: string, ...values: readonly Parameter[]): Row | undefined;
  all(sql: string, ...values: readonly Parameter[]): readonly Row[];
  /** The number of rows that changed. */
  run(sql: string, ...values: readonly Parameter[]): number;
}

/** Half a character would be replaced on its way to the file, and two keys could become one. */
function checkText(values: readonly Parameter[]): readonly SQLInputValue[] {
  for (const value of values) {
    if (typeof value === "string" && !value.isWellFormed()) {
      throw new AwakenError("storage_validation", "a key or text holds half a surrogate pair");
    }
  }
  return values;
}

/** A connection inside a transaction. */
export interface Tx extends Connection {
  readonly rows: RowForm;
  /** Runs once what was written is durable, and not at all when it is rolled back. */
  afterCommit(tell: () => void): void;
}

/** One open file, or a database in memory. Whoever begins a transaction takes care of `told`. */
export class Database implements Tx {
  readonly place: string;
  readonly rows: RowForm;
  /** What the running transaction wants to tell when it is durable. */
  told: (() => void)[] = [];
  /** Rows that were changed through this connection so far. */
  changes = 0;
  readonly #handle: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(place: string, rows: RowForm, handle: DatabaseSync) {
    this.place = place;
    this.rows = rows;
    this.#handle = handle;
  }

  static open(place: string, { synchronous = "full", busyTimeoutMs = 5_000, maxBytes, rows = "packed" }: DatabaseOptions): Database {
    let handle: DatabaseSync | undefined;
    try {
      handle = new DatabaseSync(place, { timeout: busyTimeoutMs });
      applySettings(handle, SETTINGS + (synchronous === "full" ? "FULL" : "NORMAL"), busyTimeoutMs);
      const database = new Database(place, rows, handle);
      if (maxBytes !== undefined) database.#limit(maxBytes);
      return database;
    } catch (thrown) {
      handle?.close();
      throw toStorageError(thrown, place);
    }
  }

  get isInTransaction(): boolean {
    return this.#handle.isTransaction;
  }

  get(sql: string, ...values: readonly Parameter[]): Row | undefined {
    return this.#prepare(sql).get(...checkText(values));
  }

  all(sql: string, ...values: readonly Parameter[]): readonly Row[] {
    return this.#prepare(sql).all(...checkText(values));
  }

  run(sql: string, ...values: readonly Parameter[]): number {
    const changes = Number(this.#prepare(sql).run(...checkText(values)).changes);
    this.changes += changes;
    return changes;
  }

  afterCommit(tell: () => void): void {
    this.told.push(tell);
  }

  /** Several statements without parameters. */
  exec(sql: string): void {
    this.#handle.exec(sql);
  }

  close(): void {
    this.#statements.clear();
    this.#handle.close();
  }

  #limit(maxBytes: number): void {
    const pageSize = Number(this.get("PRAGMA page_size")?.["page_size"]);
    this.#handle.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#handle.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
