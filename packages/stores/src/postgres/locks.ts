import type { ScopeId, ThreadId } from "@awaken/contract";
import { IDLE_LIMIT, ISOLATION } from "./driver.ts";
import { type Statement, sql } from "./statement.ts";

// Advisory locks of one transaction. Their order: threads, then lineage, then blobs; a deadlock in spite of it is tried again.

export interface ThreadKey {
  readonly scopeId: ScopeId;
  readonly threadId: ThreadId;
}

/** The key of a thread's lock, of columns or parameters with its id and scope. */
const threadKey = (id: string, scope = "$1"): string => `hashtextextended('~thread' || chr(31) || ${scope} || chr(31) || ${id}, 0)`;

export const lockThread = (scopeId: ScopeId, id: ThreadId): Statement =>
  sql(`SELECT pg_advisory_xact_lock(${threadKey("$2")})`, scopeId, id);

/** Said in the transaction itself: connections of a pool that somebody else made have no such limit. */
const LIMIT_IDLE = `set_config('idle_in_transaction_session_timeout', '${IDLE_LIMIT}', true)`;

/**
 * For a transaction that nobody has to find again after a crash of the server: it is not waited until the disk has it. Whatever is committed
 * later is on the disk only together with it.
 */
export const lockThreadLightly = (scopeId: ScopeId, id: ThreadId): Statement =>
  sql(`SELECT pg_advisory_xact_lock(${threadKey("$2")}), set_config('synchronous_commit', 'off', true), ${LIMIT_IDLE}`, scopeId, id);

/**
 * For statements that are sent together with it and say whether they found what was set here: they fail at once where the thread is busy,
 * so that none of them is done long after the one who sent it has gone. What they read has to be there after the lock. They do not wait
 * long for rows either: others wait until they are through.
 */
export const tryLockThread = ({ scopeId, threadId }: ThreadKey): Statement =>
  sql(locked(`pg_try_advisory_xact_lock(${threadKey("$2")})`), scopeId, threadId);

/** Locks all of these threads, or fails. */
export const tryLockThreads = (threads: readonly ThreadKey[]): Statement =>
  sql(
    locked(
      `(SELECT bool_and(pg_try_advisory_xact_lock(${threadKey("id", "scope")})) FROM unnest($1::text[], $2::text[]) AS thread (scope, id))`,
    ),
    threads.map(({ scopeId }) => scopeId),
    threads.map(({ threadId }) => threadId),
  );

/** Gives the places of those that nobody else has, from 1 on. What is written then is light as with `lockThreadLightly`. */
export const tryLockThreadsLightly = (threads: readonly ThreadKey[]): Statement =>
  sql(
    `SELECT place, set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1s', true), ${LIMIT_IDLE}
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS thread (scope, id, place)
     WHERE pg_try_advisory_xact_lock(${threadKey("id", "scope")})`,
    threads.map(({ scopeId }) => scopeId),
    threads.map(({ threadId }) => threadId),
  );

const locked = (isLocked: string): string =>
  `SELECT CASE WHEN current_setting('transaction_isolation') = '${ISOLATION.toLowerCase()}' AND ${isLocked}
    AND set_config('lock_timeout', '1s', true) IS NOT NULL THEN set_config('awaken.locked', '1', true) ELSE ~refuse()::text END`;

/** In this order. */
export const lockThreads = (scopeId: ScopeId, ids: readonly ThreadId[]): Statement =>
  sql(`SELECT pg_advisory_xact_lock(${threadKey("id")}) FROM unnest($2::text[]) AS id`, scopeId, ids);

/** The thread of a dispatch, if there is one. */
export const lockThreadOf = (scopeId: ScopeId, dispatchId: string): Statement =>
  sql(
    `SELECT pg_advisory_xact_lock(${threadKey("thread_id")}) FROM ~dispatch WHERE scope_id = $1 AND dispatch_id = $2`,
    ...[scopeId, dispatchId],
  );

const LINEAGE = "hashtextextended('~lineage' || chr(31) || $1, 0)";

/** Whoever gives a thread a parent, or deletes one: parents exist, and nobody is his own ancestor. */
export const lockLineage = (scopeId: ScopeId): Statement => sql(`SELECT pg_advisory_xact_lock(${LINEAGE})`, scopeId);

/** Only while the thread has no parent yet, so that a child's later commits do not wait for each other. */
export const lockLineageOfOrphan = (scopeId: ScopeId, id: ThreadId): Statement =>
  sql(
    `SELECT pg_advisory_xact_lock(${LINEAGE})
     WHERE NOT EXISTS (SELECT 1 FROM ~thread WHERE scope_id = $1 AND thread_id = $2 AND parent_thread_id IS NOT NULL)`,
    ...[scopeId, id],
  );

const BLOBS = "hashtextextended('~blob' || chr(31) || $1, 0)";

/** Who adds blobs, beside others. */
export const lockBlobsForUse = (scopeId: ScopeId): Statement => sql(`SELECT pg_advisory_xact_lock_shared(${BLOBS})`, scopeId);

/** Who deletes blobs that nobody uses any more, alone. */
export const lockBlobs = (scopeId: ScopeId): Statement => sql(`SELECT pg_advisory_xact_lock(${BLOBS})`, scopeId);
