import { AwakenError } from "@awaken/contract";
import { type Database, IN_MEMORY } from "./database.ts";
import { toStorageError } from "./errors.ts";
import { unpackRows } from "./unpack-rows.ts";

/** "AWKN": says that the file is ours. */
const APPLICATION_ID = 0x41_57_4b_4e;

/** Statements, or what statements cannot say. */
export type Migration = string | ((db: Database) => void);

/**
 * Every step from one version of the tables to the next, the first from an empty file; a step that was released never changes.
 * `scope_id` is first in every key and index, except in those that the host's own queue and sweeps read across all tenants.
 */
export const MIGRATIONS: readonly Migration[] = [
  `
  CREATE TABLE thread (
    scope_id TEXT NOT NULL, thread_id TEXT NOT NULL, updated_at REAL NOT NULL, resource_id TEXT, parent_thread_id TEXT,
    latest_run_id TEXT, open_run_id TEXT, message_count INTEGER NOT NULL, folded INTEGER NOT NULL, run_count INTEGER NOT NULL, record TEXT NOT NULL, state TEXT,
    PRIMARY KEY (scope_id, thread_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX thread_activity ON thread (scope_id, updated_at DESC, thread_id);
  CREATE INDEX thread_resource ON thread (scope_id, resource_id) WHERE resource_id IS NOT NULL;
  CREATE INDEX thread_parent ON thread (scope_id, parent_thread_id) WHERE parent_thread_id IS NOT NULL;

  CREATE TABLE message (
    scope_id TEXT NOT NULL, thread_id TEXT NOT NULL, seq INTEGER NOT NULL, message_id TEXT NOT NULL, run_id TEXT,
    is_internal INTEGER NOT NULL, record TEXT NOT NULL, parts TEXT,
    PRIMARY KEY (scope_id, thread_id, seq)
  ) STRICT;
  CREATE UNIQUE INDEX message_id ON message (scope_id, thread_id, message_id);

  CREATE TABLE run (
    scope_id TEXT NOT NULL, run_id TEXT NOT NULL, thread_id TEXT NOT NULL, ordinal INTEGER NOT NULL, status TEXT NOT NULL,
    created_at REAL NOT NULL, updated_at REAL NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (scope_id, run_id)
  ) STRICT;
  CREATE UNIQUE INDEX run_ordinal ON run (scope_id, thread_id, ordinal);
  CREATE INDEX run_creation ON run (scope_id, created_at, run_id);
  CREATE INDEX run_status ON run (scope_id, status, created_at, run_id);

  CREATE TABLE run_ticket (
    scope_id TEXT NOT NULL, ticket_id TEXT NOT NULL, run_id TEXT NOT NULL, PRIMARY KEY (scope_id, ticket_id, run_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX run_ticket_run ON run_ticket (scope_id, run_id);

  CREATE TABLE pending (
    scope_id TEXT NOT NULL, thread_id TEXT NOT NULL, pending_id TEXT NOT NULL, place INTEGER NOT NULL, record TEXT NOT NULL, parts TEXT,
    PRIMARY KEY (scope_id, thread_id, pending_id)
  ) STRICT;
  CREATE INDEX pending_place ON pending (scope_id, thread_id, place);

  CREATE TABLE event (
    scope_id TEXT NOT NULL, batch_id TEXT NOT NULL, thread_id TEXT, thread_seq INTEGER, run_id TEXT, run_seq INTEGER,
    count INTEGER NOT NULL, created_at REAL NOT NULL, record TEXT NOT NULL, parts TEXT
  ) STRICT;
  CREATE UNIQUE INDEX event_thread ON event (scope_id, thread_id, thread_seq) WHERE thread_id IS NOT NULL;
  CREATE UNIQUE INDEX event_run ON event (scope_id, run_id, run_seq) WHERE run_id IS NOT NULL;

  CREATE TABLE event_key (
    scope_id TEXT NOT NULL, writer_id TEXT NOT NULL, idempotency_key TEXT NOT NULL, thread_id TEXT, thread_seq INTEGER,
    run_id TEXT, run_seq INTEGER, created_at REAL NOT NULL,
    PRIMARY KEY (scope_id, writer_id, idempotency_key)
  ) STRICT;
  CREATE INDEX event_key_thread ON event_key (scope_id, thread_id) WHERE thread_id IS NOT NULL;
  CREATE INDEX event_key_run ON event_key (scope_id, run_id) WHERE thread_id IS NULL;

  CREATE TABLE swept_log (
    scope_id TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL, last_seq INTEGER NOT NULL, last_at REAL NOT NULL,
    PRIMARY KEY (scope_id, type, id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE dispatch (
    scope_id TEXT NOT NULL, dispatch_id TEXT NOT NULL, thread_id TEXT NOT NULL, status TEXT NOT NULL, priority INTEGER NOT NULL,
    dedupe_key TEXT, epoch INTEGER NOT NULL, available_at REAL NOT NULL, lease_until REAL, created_at REAL NOT NULL,
    updated_at REAL NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (scope_id, dispatch_id)
  ) STRICT;
  CREATE UNIQUE INDEX dispatch_claim ON dispatch (scope_id, thread_id) WHERE status = 'claimed';
  CREATE UNIQUE INDEX dispatch_dedupe ON dispatch (scope_id, thread_id, dedupe_key)
    WHERE dedupe_key IS NOT NULL AND status IN ('queued', 'claimed');
  CREATE INDEX dispatch_order ON dispatch (scope_id, thread_id, priority, created_at, dispatch_id);
  CREATE INDEX dispatch_due ON dispatch (available_at) WHERE status = 'queued';
  CREATE INDEX dispatch_lease ON dispatch (lease_until) WHERE status = 'claimed';
  CREATE INDEX dispatch_over ON dispatch (updated_at) WHERE status NOT IN ('queued', 'claimed');

  CREATE TABLE thread_epoch (
    scope_id TEXT NOT NULL, thread_id TEXT NOT NULL, epoch INTEGER NOT NULL, PRIMARY KEY (scope_id, thread_id)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE stream_checkpoint (
    scope_id TEXT NOT NULL, run_id TEXT NOT NULL, step INTEGER NOT NULL, thread_id TEXT NOT NULL, updated_at REAL NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (scope_id, run_id, step)
  ) STRICT;
  CREATE INDEX stream_checkpoint_thread ON stream_checkpoint (scope_id, thread_id);

  CREATE TABLE ledger (
    scope_id TEXT NOT NULL, idempotency_key TEXT NOT NULL, thread_id TEXT NOT NULL, run_id TEXT NOT NULL, status TEXT NOT NULL,
    updated_at REAL NOT NULL, record TEXT NOT NULL, parts TEXT,
    PRIMARY KEY (scope_id, idempotency_key)
  ) STRICT;
  CREATE INDEX ledger_run ON ledger (scope_id, run_id);
  CREATE INDEX ledger_age ON ledger (updated_at);

  CREATE TABLE profile (
    scope_id TEXT NOT NULL, owner TEXT NOT NULL, key TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (scope_id, owner, key)
  ) STRICT;

  CREATE TABLE config (
    scope_id TEXT NOT NULL, namespace TEXT NOT NULL, sort_key TEXT NOT NULL, id TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (scope_id, namespace, sort_key)
  ) STRICT;

  CREATE TABLE blob (
    scope_id TEXT NOT NULL, hash TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (scope_id, hash)
  ) STRICT;
  CREATE TABLE blob_use (
    scope_id TEXT NOT NULL, thread_id TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (scope_id, thread_id, hash)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX blob_use_hash ON blob_use (scope_id, hash);
  `,
  "ALTER TABLE thread ADD COLUMN incarnation TEXT",
  `
  CREATE TABLE wish (
    scope_id TEXT NOT NULL, wish_id TEXT NOT NULL, thread_id TEXT NOT NULL, run_id TEXT NOT NULL, ticket_id TEXT,
    created_at REAL NOT NULL, taken_at REAL, record TEXT NOT NULL,
    PRIMARY KEY (scope_id, wish_id)
  ) STRICT;
  CREATE UNIQUE INDEX wish_ticket ON wish (scope_id, run_id, ticket_id) WHERE ticket_id IS NOT NULL;
  CREATE INDEX wish_open ON wish (scope_id, run_id) WHERE taken_at IS NULL;
  CREATE INDEX wish_thread ON wish (scope_id, thread_id);

  CREATE TABLE outbound (
    scope_id TEXT NOT NULL, outbound_id TEXT NOT NULL, created_at REAL NOT NULL, PRIMARY KEY (scope_id, outbound_id)
  ) STRICT;

  ALTER TABLE run ADD COLUMN parent_run_id TEXT;
  ALTER TABLE run ADD COLUMN root_run_id TEXT;
  CREATE INDEX run_parent ON run (scope_id, parent_run_id) WHERE parent_run_id IS NOT NULL;
  CREATE INDEX run_root ON run (scope_id, root_run_id) WHERE root_run_id IS NOT NULL;
  `,
  unpackRows,
  "CREATE INDEX dispatch_dead ON dispatch (scope_id, created_at, dispatch_id) WHERE status = 'dead-letter'",
  `
  DROP INDEX wish_ticket;
  CREATE UNIQUE INDEX wish_ticket ON wish (scope_id, run_id, ticket_id) WHERE ticket_id IS NOT NULL AND taken_at IS NULL;
  `,
  // Few rows: of the runs that wait, those that wait for tasks.
  `CREATE INDEX run_tasks ON run (scope_id, thread_id) WHERE status = 'waiting' AND instr(record, '"reason":"awaiting-tasks"') > 0`,
  // A thread has a number, and the place of a message is that number and its own: the table is in the order of the logs without an index.
  `
  ALTER TABLE thread ADD COLUMN number INTEGER;
  UPDATE thread SET number = n.number
    FROM (SELECT scope_id, thread_id, row_number() OVER (ORDER BY scope_id, thread_id) AS number FROM thread) AS n
    WHERE n.scope_id = thread.scope_id AND n.thread_id = thread.thread_id;
  CREATE UNIQUE INDEX thread_number ON thread (number);

  DROP INDEX message_id;
  ALTER TABLE message RENAME TO old_message;
  CREATE TABLE message (
    place INTEGER PRIMARY KEY, thread INTEGER NOT NULL AS (place >> 32), seq INTEGER NOT NULL AS (place & 4294967295),
    message_id TEXT NOT NULL, run_id TEXT, is_internal INTEGER NOT NULL, record TEXT NOT NULL, parts TEXT
  ) STRICT;
  INSERT INTO message (place, message_id, run_id, is_internal, record, parts)
    SELECT (t.number << 32) + m.seq, m.message_id, m.run_id, m.is_internal, m.record, m.parts
    FROM old_message m JOIN thread t ON t.scope_id = m.scope_id AND t.thread_id = m.thread_id ORDER BY 1;
  DROP TABLE old_message;
  CREATE UNIQUE INDEX message_id ON message (thread, message_id);

  -- What is claimed is found by dispatch_claim, and all of it is looked at anyway.
  DROP INDEX dispatch_lease;
  `,
  // A program of an older version that still has the file open makes threads without a number, and their messages would have no place.
  `
  UPDATE thread SET number = n.number
    FROM (
      SELECT scope_id, thread_id, (SELECT coalesce(max(number), 0) FROM thread) + row_number() OVER (ORDER BY scope_id, thread_id) AS number
      FROM thread WHERE number IS NULL
    ) AS n
    WHERE n.scope_id = thread.scope_id AND n.thread_id = thread.thread_id;
  CREATE TRIGGER thread_has_number BEFORE INSERT ON thread WHEN NEW.number IS NULL
    BEGIN SELECT RAISE(ABORT, 'the tables are of a newer version than the program that makes this thread'); END;
  `,
  // The index moves when a thread is active in another half minute than before, not with each of its commits.
  `
  DROP INDEX thread_activity;
  ALTER TABLE thread ADD COLUMN half_minute INTEGER;
  UPDATE thread SET half_minute = CAST(updated_at / 30000 AS INTEGER);
  CREATE INDEX thread_activity ON thread (scope_id, half_minute DESC);
  `,
  // The events of a run mostly follow each other in the log of its thread: the log of the run is an index over where such stretches begin.
  `
  ALTER TABLE event ADD COLUMN begins INTEGER;
  UPDATE event SET begins = 1
    FROM (
      SELECT rowid AS id, run_id IS lag(run_id) OVER log AND run_seq IS lag(run_seq + count) OVER log
        AND thread_seq IS lag(thread_seq + count) OVER log AND thread_id IS NOT NULL AND run_id IS NOT NULL AS is_next
      FROM event WINDOW log AS (PARTITION BY scope_id, thread_id ORDER BY thread_seq)
    ) AS e
    WHERE e.id = event.rowid AND NOT e.is_next;
  DROP INDEX event_run;
  CREATE UNIQUE INDEX event_run ON event (scope_id, run_id, run_seq) WHERE run_id IS NOT NULL AND begins = 1;
  CREATE UNIQUE INDEX event_stretch ON event (scope_id, thread_id, thread_seq) WHERE thread_id IS NOT NULL AND begins = 1;
  `,
  // Threads of a resource, or below a thread, are found by their activity too: otherwise a page of them is looked for among all threads.
  `
  DROP INDEX thread_resource;
  DROP INDEX thread_parent;
  CREATE INDEX thread_resource ON thread (scope_id, resource_id, half_minute DESC) WHERE resource_id IS NOT NULL;
  CREATE INDEX thread_parent ON thread (scope_id, parent_thread_id, half_minute DESC) WHERE parent_thread_id IS NOT NULL;
  `,
  // What a new dispatch stands behind, among however many that are over. A run that is claimed when it begins is never in it.
  "CREATE INDEX dispatch_queued ON dispatch (scope_id, thread_id, created_at, dispatch_id) WHERE status = 'queued'",
];

const pragma = (db: Database, name: string): number => Number(db.get(`PRAGMA ${name}`)?.[name] ?? 0);

/** In one statement, hence of one moment: another process may be making the tables just now. */
const OWNER = "SELECT application_id AS owner, (SELECT count(*) FROM sqlite_schema) AS tables FROM pragma_application_id";

function checkOwner(db: Database): void {
  const { owner, tables } = db.get(OWNER) ?? {};
  if (owner === APPLICATION_ID || (owner === 0 && tables === 0)) return;
  throw new AwakenError("storage_corrupt", `SQLite database '${db.place}' belongs to another program`, { details: { place: db.place } });
}

function checkKnown(db: Database, known: number): void {
  const found = pragma(db, "user_version");
  if (found <= known) return;
  const message = `SQLite database '${db.place}' has version ${found} of the tables, this program knows up to ${known}`;
  throw new AwakenError("storage_too_new", message, { details: { place: db.place, found, known } });
}

/** Throws `storage_too_new` after a newer program has migrated the file that this one has open. */
export function checkVersion(db: Database): void {
  if (db.place !== IN_MEMORY) checkKnown(db, MIGRATIONS.length);
}

/** Brings the tables up to the last migration, in one transaction; `storage_too_new` when they are past it. */
export function migrate(db: Database, migrations: readonly Migration[] = MIGRATIONS): void {
  const known = migrations.length;
  try {
    checkOwner(db);
    if (pragma(db, "user_version") === known) return;
    db.exec("BEGIN IMMEDIATE");
    checkKnown(db, known);
    for (const step of migrations.slice(pragma(db, "user_version"))) {
      if (typeof step === "string") db.exec(step);
      else step(db);
    }
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${known}; COMMIT`);
  } catch (thrown) {
    if (db.isInTransaction) db.exec("ROLLBACK");
    throw toStorageError(thrown, db.place);
  }
}
