import { statSync } from "node:fs";
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { AwakenError } from "@awaken/contract";
import type { Row } from "../sql/rows.ts";
import { toStorageError } from "./errors.ts";
import { KnownRows } from "./known-rows.ts";

export interface DatabaseOptions {
  /** `full` (the default) survives a power cut, `normal` may lose the last commits to one; a killed process loses nothing in either. */
  readonly synchronous?: "full" | "normal";
  /** How long a read, a write or the opening waits for another process that has locked the file: 5 s when left out. Nothing else waits. */
  readonly busyTimeoutMs?: number;
  /** What would make the file larger is `storage_io`; only an upgrade of the tables may do so. */
  readonly maxBytes?: number;
  /** Changes nothing, and so can be used where the file or its folder cannot be written. Its tables must be of this version. */
  readonly readOnly?: boolean;
}

/**
 * A checkpoint copies the log into the file and waits for the disk: the fewer, the more often a page that is written by every commit is
 * copied only once. The log is cut back to its limit afterwards. Sizes are in pages of 4 KiB and in KiB.
 */
const SETTINGS = `PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 8000; PRAGMA journal_size_limit = ${32 * 1024 * 1024};
  PRAGMA cache_size = -16000; PRAGMA synchronous = `;

export const DEFAULT_BUSY_MS = 5_000;

/** The name of a database that nobody else can open. */
export const IN_MEMORY = ":memory:";

function hasLog(path: string): boolean {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  return log?.isFile() === true && log.size > 0;
}

/** A file that was closed has all of it in itself. One with a log needs the memory that its users share, which is there as well. */
function openReadOnly(path: string): DatabaseSync {
  if (hasLog(path)) return new DatabaseSync(path, { readOnly: true });
  const address = pathToFileURL(path);
  address.search = "?immutable=1";
  return new DatabaseSync(address, { readOnly: true });
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
  /** Runs once what was written is durable, and not at all when it is rolled back. */
  afterCommit(tell: () => void): void;
  readonly known: KnownRows;
  /** What `work` changes is told to `known`, if it could be known: after any other write nothing is. */
  keeping<T>(work: () => T): T;
}

/** Work that tells `known` of what it changes. */
export const keeping =
  <T>(work: (tx: Tx) => T) =>
  (tx: Tx): T =>
    tx.keeping(() => work(tx));

/** One open file, or a database in memory. Whoever begins a transaction takes care of `told`. */
export class Database implements Tx {
  readonly place: string;
  /** How long its users wait for another process. */
  readonly busyTimeoutMs: number;
  /** What the running transaction wants to tell when it is durable. */
  told: (() => void)[] = [];
  /** Rows that were changed through this connection so far. */
  changes = 0;
  readonly known = new KnownRows();
  #isKeeping = false;
  /** SQLite's count of the writes of others when it was looked at last. */
  #seen: unknown;
  readonly #handle: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  private constructor(place: string, { busyTimeoutMs = DEFAULT_BUSY_MS }: DatabaseOptions, handle: DatabaseSync) {
    this.place = place;
    this.busyTimeoutMs = busyTimeoutMs;
    this.#handle = handle;
  }

  /** Tries once: SQLite itself never waits here, since it would do so in the only thread. */
  static open(place: string, options: DatabaseOptions): Database {
    const { synchronous = "full", readOnly = false } = options;
    let handle: DatabaseSync | undefined;
    try {
      handle = readOnly ? openReadOnly(place) : new DatabaseSync(place, { timeout: 0 });
      if (!readOnly) handle.exec(SETTINGS + (synchronous === "full" ? "FULL" : "NORMAL"));
      return new Database(place, options, handle);
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
    if (changes > 0 && !this.#isKeeping) this.known.clear();
    return changes;
  }

  /** BEGIN, COMMIT and the like, for which SQLite says again how many rows changed before. */
  control(sql: string): void {
    this.#prepare(sql).run();
  }

  keeping<T>(work: () => T): T {
    const before = this.#isKeeping;
    this.#isKeeping = true;
    try {
      return work();
    } finally {
      this.#isKeeping = before;
    }
  }

  /** Inside of a transaction: calls `check` when another connection may have written since it passed last. */
  noticeOthers(check: () => void): void {
    if (this.place === IN_MEMORY) return;
    const count = this.get("PRAGMA data_version")?.["data_version"];
    if (count === this.#seen) return;
    this.known.clear();
    check();
    this.#seen = count;
  }

  afterCommit(tell: () => void): void {
    this.told.push(tell);
  }

  /** Several statements without parameters. */
  exec(sql: string): void {
    this.#handle.exec(sql);
  }

  /** From now on. A file that is larger already stays as large as it is. */
  limit(maxBytes: number): void {
    const pageSize = Number(this.get("PRAGMA page_size")?.["page_size"]);
    this.#handle.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
  }

  close(): void {
    this.#statements.clear();
    this.#handle.close();
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#handle.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}
