import { setImmediate, setTimeout } from "node:timers";
import { AwakenError } from "@awaken/contract";
import { closedError, overError } from "../sql/env.ts";
import type { Connection, Database, Tx } from "./database.ts";
import { isBusy, toStorageError } from "./errors.ts";
import { begin, commit, commitGroup, inSavepoint, type Job, rollBack } from "./group-commit.ts";
import { checkVersion } from "./migrations.ts";

/** How ports get at the database. Work is synchronous, so nothing comes between its statements. */
export interface Session {
  /** One statement. */
  read<T>(work: (db: Connection) => T): Promise<T>;
  /** Several statements that see the same moment. */
  snapshot<T>(work: (db: Connection) => T): Promise<T>;
  /** All of `work` or nothing of it; durable when the promise resolves. It may run again, and so changes nothing but the database. */
  write<T>(work: (tx: Tx) => T): Promise<T>;
}

/** More writes than this do not share one COMMIT, so that nobody else waits for long. */
const MAX_GROUP = 128;

type Entry =
  | { readonly type: "write"; readonly job: Job }
  | { readonly type: "transaction"; readonly start: () => void; readonly fail: (error: AwakenError) => void; readonly since: number }
  | { readonly type: "alone"; readonly start: () => void };

/** Longer after each try for a lock, up to the last. */
const PAUSES_MS: readonly number[] = [1, 2, 5, 10, 15, 20, 25];

/** How long to wait before the next try. */
export const pauseMs = (tries: number): number => PAUSES_MS[tries] ?? 25;

function attempt<T>(db: Database, work: () => T): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (thrown) {
    return Promise.reject(toStorageError(thrown, db.place));
  }
}

/** Which writes share a COMMIT: those of one turn of the event loop, those that callers make without waiting in between, or none. */
type Sharing = "turn" | "moment" | "none";

/**
 * The one writer of a database. Writes that come together share a COMMIT, and so its sync to the disk; none is acknowledged before it.
 * While a transaction lasts, everybody else waits in line, readers too. While another process has the file locked, who is in the way of
 * it tries again from time to time, and the event loop goes on.
 */
export class Writer implements Session {
  readonly #db: Database;
  readonly #sharing: Sharing;
  readonly #line: Entry[] = [];
  #isHeld = false;
  #isScheduled = false;
  /** How often the lock of another process was found in vain, one time after another. */
  #tries = 0;
  #retry: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;
  /** Another process has brought the tables to a version that this program does not know: from then on it is told to everybody. */
  #tooNew: AwakenError | undefined;

  constructor(db: Database, sharing: Sharing) {
    this.#db = db;
    this.#sharing = sharing;
  }

  read<T>(work: (db: Connection) => T): Promise<T> {
    return this.#read(work, undefined);
  }

  #read<T>(work: (db: Connection) => T, waiting: { readonly tries: number; readonly since: number } | undefined): Promise<T> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    if (this.#isHeld) {
      return new Promise((resolve) => {
        this.#line.push({ type: "alone", start: () => resolve(this.#read(work, waiting)) });
      });
    }
    try {
      return Promise.resolve(work(this.#db));
    } catch (thrown) {
      const { tries, since } = waiting ?? { tries: 0, since: performance.now() };
      if (!isBusy(thrown) || this.#isLate(since)) return Promise.reject(this.#explain(thrown));
      return new Promise((resolve) => {
        setTimeout(() => resolve(this.#read(work, { tries: tries + 1, since })), pauseMs(tries));
      });
    }
  }

  snapshot<T>(work: (db: Connection) => T): Promise<T> {
    return this.read((db) => {
      this.#db.exec("BEGIN");
      try {
        return work(db);
      } finally {
        if (this.#db.isInTransaction) this.#db.exec("COMMIT");
      }
    });
  }

  write<T>(work: (tx: Tx) => T): Promise<T> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      const perform = (tx: Tx) => {
        const result = work(tx);
        return () => resolve(result);
      };
      this.#line.push({ type: "write", job: { perform, fail: reject, since: performance.now() } });
      if (this.#sharing === "none") this.#advance();
      else this.#schedule(this.#sharing === "turn" ? setImmediate : queueMicrotask);
    });
  }

  transaction<T>(work: (inside: Session) => Promise<T>): Promise<T> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      this.#line.push({ type: "transaction", start: () => resolve(this.#hold(work)), fail: reject, since: performance.now() });
      this.#advance();
    });
  }

  /** Until what is in line now is done. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#line.push({ type: "alone", start: resolve });
      this.#advance();
    });
  }

  /** Does what is in line, then closes the file; idempotent. */
  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.#line.push({ type: "alone", start: () => resolve(attempt(this.#db, () => this.#db.close())) });
      this.#advance();
    });
    return this.#closed;
  }

  #refusal(): AwakenError | undefined {
    return this.#closed === undefined ? this.#tooNew : closedError();
  }

  /** What fails in tables that this program does not know says nothing of what it reads, whatever it looks like. */
  #explain(thrown: unknown): AwakenError {
    try {
      checkVersion(this.#db);
    } catch (newer) {
      if (AwakenError.is(newer)) this.#tooNew = newer;
    }
    return this.#tooNew ?? toStorageError(thrown, this.#db.place);
  }

  #schedule(defer: (act: () => void) => unknown = setImmediate): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    defer(() => {
      this.#isScheduled = false;
      this.#advance();
    });
  }

  /** Does what is first in line; a turn of the event loop later the rest. */
  #advance(): void {
    for (let entry = this.#line[0]; entry !== undefined && !this.#isHeld && this.#retry === undefined; entry = this.#line[0]) {
      if (entry.type !== "alone" && !this.#begin(entry)) continue;
      if (entry.type !== "write") {
        this.#line.shift();
        entry.start();
        continue;
      }
      const group = this.#takeGroup();
      const left = commitGroup(this.#db, group);
      if (left.length > 0) this.#line.unshift(...left.map((job): Entry => ({ type: "write", job })));
      if (this.#line.length === 0) return;
      this.#schedule();
      return;
    }
  }

  #isLate(since: number): boolean {
    return performance.now() - since >= this.#db.busyTimeoutMs;
  }

  /** Begins a transaction for the first in line. Otherwise that one has failed, or is tried again later. */
  #begin(first: Exclude<Entry, { readonly type: "alone" }>): boolean {
    try {
      begin(this.#db);
      this.#tries = 0;
      return true;
    } catch (thrown) {
      const isInVain = isBusy(thrown);
      const error = isInVain ? toStorageError(thrown, this.#db.place) : this.#explain(thrown);
      this.#fail((entry) => (isInVain ? this.#isLate(sinceOf(entry)) : entry === first), error);
      if (isInVain && this.#line[0] !== undefined && this.#line[0].type !== "alone") this.#waitForLock();
      return false;
    }
  }

  #waitForLock(): void {
    this.#retry = setTimeout(
      () => {
        this.#retry = undefined;
        this.#advance();
      },
      pauseMs(this.#tries++),
    );
  }

  #fail(isMeant: (entry: Exclude<Entry, { readonly type: "alone" }>) => boolean, error: AwakenError): void {
    for (const entry of this.#line.splice(0)) {
      if (entry.type === "alone" || !isMeant(entry)) this.#line.push(entry);
      else if (entry.type === "write") entry.job.fail(error);
      else entry.fail(error);
    }
  }

  #takeGroup(): readonly Job[] {
    const jobs: Job[] = [];
    for (const entry of this.#line) {
      if (entry.type !== "write" || jobs.length === MAX_GROUP) break;
      jobs.push(entry.job);
    }
    this.#line.splice(0, jobs.length);
    return jobs;
  }

  async #hold<T>(work: (inside: Session) => Promise<T>): Promise<T> {
    const db = this.#db;
    this.#isHeld = true;
    const inside = new Inside(db);
    try {
      const result = await work(inside);
      inside.end();
      commit(db);
      return result;
    } finally {
      inside.end();
      rollBack(db);
      this.#isHeld = false;
      this.#schedule();
    }
  }
}

const sinceOf = (entry: Exclude<Entry, { readonly type: "alone" }>): number => (entry.type === "write" ? entry.job.since : entry.since);

/** The way of the transaction that holds the writer. */
class Inside implements Session {
  readonly #db: Database;
  #isOver = false;

  constructor(db: Database) {
    this.#db = db;
  }

  read<T>(work: (db: Connection) => T): Promise<T> {
    return this.#enter(() => work(this.#db));
  }

  snapshot<T>(work: (db: Connection) => T): Promise<T> {
    return this.read(work);
  }

  write<T>(work: (tx: Tx) => T): Promise<T> {
    return this.#enter(() => inSavepoint(this.#db, () => work(this.#db)));
  }

  end(): void {
    this.#isOver = true;
  }

  /** After an error that ended the transaction, further statements would stay on their own. */
  #enter<T>(work: () => T): Promise<T> {
    if (this.#isOver) return Promise.reject(overError());
    return attempt(this.#db, () => {
      if (this.#db.isInTransaction) return work();
      throw new AwakenError("storage_io", "SQLite has rolled this transaction back");
    });
  }
}
