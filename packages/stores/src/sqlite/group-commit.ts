import type { AwakenError } from "@awaken/contract";
import type { Database, Tx } from "./database.ts";
import { isBusy, toCommitError, toStorageError } from "./errors.ts";
import { checkVersion } from "./migrations.ts";

/** Writing work that waits for its turn. */
export interface Job {
  /** Gives what to do once it is durable. May be called again after everything was rolled back. */
  perform(tx: Tx): () => void;
  fail(error: AwakenError): void;
  /** When it came, by the clock of the machine. */
  readonly since: number;
}

interface Done {
  readonly job: Job;
  readonly answer: () => void;
}

/** Holds the lock of the file, hence the version of its tables, until the transaction ends; leaves none behind when it throws. */
export function begin(db: Database): void {
  db.control("BEGIN IMMEDIATE");
  try {
    db.noticeOthers(() => checkVersion(db));
  } catch (thrown) {
    rollBack(db);
    throw thrown;
  }
}

export function inSavepoint<T>(db: Database, work: () => T): T {
  const told = db.told.length;
  db.control("SAVEPOINT part");
  try {
    const result = work();
    db.control("RELEASE part");
    return result;
  } catch (thrown) {
    db.told.length = told;
    db.known.clear();
    if (db.isInTransaction) {
      db.control("ROLLBACK TO part");
      db.control("RELEASE part");
    }
    throw thrown;
  }
}

/** Throws, and leaves no transaction behind, when nothing or not surely everything is durable. */
export function commit(db: Database): void {
  try {
    db.control("COMMIT");
  } catch (thrown) {
    rollBack(db);
    throw toCommitError(thrown, db.place);
  }
  const { told } = db;
  db.told = [];
  for (const tell of told) tell();
}

export function rollBack(db: Database): void {
  db.told = [];
  db.known.clear();
  if (db.isInTransaction) db.control("ROLLBACK");
}

/**
 * All jobs in the transaction that was begun, each for itself. Gives those that still have to be done, after an error that ended the
 * transaction, or when another process came in between.
 */
export function commitGroup(db: Database, group: readonly Job[]): readonly Job[] {
  try {
    if (group.length > 1) {
      const done = performTogether(db, group);
      if (done !== undefined) return commitDone(db, done);
      begin(db);
    }
    return performApart(db, group);
  } catch (thrown) {
    if (!db.isInTransaction && isBusy(thrown)) return group;
    // The transaction could not be begun again, or taken back.
    failAll(db, group, thrown);
    return [];
  }
}

function failAll(db: Database, jobs: readonly Job[], thrown: unknown): void {
  for (const job of jobs) job.fail(toStorageError(thrown, db.place));
}

/**
 * Without savepoints: each would copy every page that its job changes. Undefined, and everything rolled back, when a job fails that has
 * written already.
 */
function performTogether(db: Database, group: readonly Job[]): readonly Done[] | undefined {
  const done: Done[] = [];
  const refused: (() => void)[] = [];
  for (const job of group) {
    const before = { changes: db.changes, told: db.told.length };
    try {
      done.push({ job, answer: job.perform(db) });
    } catch (thrown) {
      if (db.changes !== before.changes || !db.isInTransaction) {
        rollBack(db);
        return undefined;
      }
      db.told.length = before.told;
      refused.push(() => failAll(db, [job], thrown));
    }
  }
  for (const refuse of refused) refuse();
  return done;
}

/** With savepoints, unless there is but one job. */
function performApart(db: Database, group: readonly Job[]): readonly Job[] {
  const done: Done[] = [];
  for (const [index, job] of group.entries()) {
    try {
      done.push({ job, answer: group.length === 1 ? job.perform(db) : inSavepoint(db, () => job.perform(db)) });
    } catch (thrown) {
      failAll(db, [job], thrown);
      if (db.isInTransaction) continue;
      // It took the work of the others with it, and what was known of its own: they are done again, without it.
      rollBack(db);
      return [...jobsOf(done), ...group.slice(index + 1)];
    }
  }
  return commitDone(db, done);
}

function commitDone(db: Database, done: readonly Done[]): readonly Job[] {
  try {
    if (done.length === 0) rollBack(db);
    else commit(db);
    for (const { answer } of done) answer();
  } catch (thrown) {
    failAll(db, jobsOf(done), thrown);
  }
  return [];
}

const jobsOf = (done: readonly Done[]): readonly Job[] => done.map(({ job }) => job);
