import { AwakenError } from "@awaken/contract";
import { numberOf } from "../sql/rows.ts";
import type { PgClient, PgPool } from "./driver.ts";
import { isConnectionLost, isWorthAnotherTry, toStorageError } from "./errors.ts";
import { SERVER_TIME, ServerClock } from "./server-clock.ts";
import { BEGIN } from "./statement.ts";

/**
 * Makes the primary key the newest index of its table. Of indexes that it thinks equally good the planner takes the newest, and it thinks so of
 * all that begin with the scope while a table is small; a prepared statement keeps that plan when the table has grown.
 */
const keyLast = (key: string): string => {
  const [table = ""] = key.split(" ");
  return `
  CREATE UNIQUE INDEX ${table}_key ON ~${key};
  ALTER TABLE ~${table} DROP CONSTRAINT ${table}_pkey, ADD CONSTRAINT ${table}_pkey PRIMARY KEY USING INDEX ${table}_key;
  `;
};

/**
 * Every step from one version of the tables to the next; `~` stands for the schema, and a step that was released never changes.
 * `scope_id` is first in every key and index, except in those that the host's own queue and sweeps read across all tenants.
 * Records are `json`, not `jsonb`: they come back as they were written, and `jsonb` refuses some strings that JSON allows. So do the
 * operators that look into `json`: what queries need stands in columns.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE ~thread (
    scope_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL, updated_at double precision NOT NULL,
    resource_id text COLLATE "C", parent_thread_id text COLLATE "C", latest_run_id text COLLATE "C", open_run_id text COLLATE "C",
    message_count bigint NOT NULL, folded bigint NOT NULL, run_count bigint NOT NULL, record json NOT NULL, state json,
    PRIMARY KEY (scope_id, thread_id)
  );
  CREATE INDEX thread_activity ON ~thread (scope_id, updated_at DESC, thread_id);
  CREATE INDEX thread_resource ON ~thread (scope_id, resource_id) WHERE resource_id IS NOT NULL;
  CREATE INDEX thread_parent ON ~thread (scope_id, parent_thread_id) WHERE parent_thread_id IS NOT NULL;

  CREATE TABLE ~message (
    scope_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL, seq bigint NOT NULL,
    message_id text COLLATE "C" NOT NULL, run_id text COLLATE "C", is_internal smallint NOT NULL, record json NOT NULL, parts text,
    PRIMARY KEY (scope_id, thread_id, seq)
  );
  CREATE UNIQUE INDEX message_id ON ~message (scope_id, thread_id, message_id);

  CREATE TABLE ~run (
    scope_id text COLLATE "C" NOT NULL, run_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL, ordinal bigint NOT NULL,
    status text COLLATE "C" NOT NULL, created_at double precision NOT NULL, updated_at double precision NOT NULL, record json NOT NULL,
    PRIMARY KEY (scope_id, run_id)
  ) WITH (fillfactor = 80);
  CREATE UNIQUE INDEX run_ordinal ON ~run (scope_id, thread_id, ordinal);
  CREATE INDEX run_creation ON ~run (scope_id, created_at, run_id);
  CREATE INDEX run_status ON ~run (scope_id, status, created_at, run_id);

  CREATE TABLE ~run_ticket (
    scope_id text COLLATE "C" NOT NULL, ticket_id text COLLATE "C" NOT NULL, run_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (scope_id, ticket_id, run_id)
  );
  CREATE INDEX run_ticket_run ON ~run_ticket (scope_id, run_id);

  CREATE TABLE ~pending (
    scope_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL, pending_id text COLLATE "C" NOT NULL,
    place bigint NOT NULL, record json NOT NULL, parts text,
    PRIMARY KEY (scope_id, thread_id, pending_id)
  );
  CREATE INDEX pending_place ON ~pending (scope_id, thread_id, place);

  CREATE TABLE ~event (
    scope_id text COLLATE "C" NOT NULL, batch_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C", thread_seq bigint,
    run_id text COLLATE "C", run_seq bigint, count integer NOT NULL, created_at double precision NOT NULL,
    record json NOT NULL, parts text
  );
  CREATE UNIQUE INDEX event_thread ON ~event (scope_id, thread_id, thread_seq) WHERE thread_id IS NOT NULL;
  CREATE UNIQUE INDEX event_run ON ~event (scope_id, run_id, run_seq) WHERE run_id IS NOT NULL;
  CREATE INDEX event_age ON ~event (created_at);

  CREATE TABLE ~event_key (
    scope_id text COLLATE "C" NOT NULL, writer_id text COLLATE "C" NOT NULL, idempotency_key text COLLATE "C" NOT NULL,
    thread_id text COLLATE "C", thread_seq bigint, run_id text COLLATE "C", run_seq bigint, created_at double precision NOT NULL,
    PRIMARY KEY (scope_id, writer_id, idempotency_key)
  );
  CREATE INDEX event_key_thread ON ~event_key (scope_id, thread_id) WHERE thread_id IS NOT NULL;
  CREATE INDEX event_key_run ON ~event_key (scope_id, run_id) WHERE thread_id IS NULL;
  CREATE INDEX event_key_age ON ~event_key (created_at);

  CREATE TABLE ~swept_log (
    scope_id text COLLATE "C" NOT NULL, type text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL,
    last_seq bigint NOT NULL, last_at double precision NOT NULL,
    PRIMARY KEY (scope_id, type, id)
  );

  CREATE TABLE ~dispatch (
    scope_id text COLLATE "C" NOT NULL, dispatch_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL, priority smallint NOT NULL, dedupe_key text COLLATE "C", epoch bigint NOT NULL,
    available_at double precision NOT NULL, lease_until double precision, created_at double precision NOT NULL,
    updated_at double precision NOT NULL, record json NOT NULL,
    PRIMARY KEY (scope_id, dispatch_id)
  );
  CREATE UNIQUE INDEX dispatch_claim ON ~dispatch (scope_id, thread_id) WHERE status = 'claimed';
  CREATE UNIQUE INDEX dispatch_dedupe ON ~dispatch (scope_id, thread_id, dedupe_key)
    WHERE dedupe_key IS NOT NULL AND status IN ('queued', 'claimed');
  CREATE INDEX dispatch_order ON ~dispatch (scope_id, thread_id, priority, created_at, dispatch_id);
  CREATE INDEX dispatch_due ON ~dispatch (available_at) WHERE status = 'queued';
  CREATE INDEX dispatch_lease ON ~dispatch (lease_until) WHERE status = 'claimed';
  CREATE INDEX dispatch_over ON ~dispatch (updated_at) WHERE status NOT IN ('queued', 'claimed');

  CREATE TABLE ~thread_epoch (
    scope_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL, epoch bigint NOT NULL, PRIMARY KEY (scope_id, thread_id)
  );

  CREATE TABLE ~stream_checkpoint (
    scope_id text COLLATE "C" NOT NULL, run_id text COLLATE "C" NOT NULL, step bigint NOT NULL, thread_id text COLLATE "C" NOT NULL,
    updated_at double precision NOT NULL, record json NOT NULL,
    PRIMARY KEY (scope_id, run_id, step)
  ) WITH (fillfactor = 70);
  CREATE INDEX stream_checkpoint_thread ON ~stream_checkpoint (scope_id, thread_id);

  CREATE TABLE ~ledger (
    scope_id text COLLATE "C" NOT NULL, idempotency_key text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL, status text COLLATE "C" NOT NULL, updated_at double precision NOT NULL,
    place bigint GENERATED ALWAYS AS IDENTITY, record json NOT NULL, parts text,
    PRIMARY KEY (scope_id, idempotency_key)
  );
  CREATE INDEX ledger_run ON ~ledger (scope_id, run_id);
  CREATE INDEX ledger_age ON ~ledger (updated_at);

  CREATE TABLE ~profile (
    scope_id text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, record json NOT NULL,
    PRIMARY KEY (scope_id, owner, key)
  );

  CREATE TABLE ~config (
    scope_id text COLLATE "C" NOT NULL, namespace text COLLATE "C" NOT NULL, sort_key text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL, record json NOT NULL,
    PRIMARY KEY (scope_id, namespace, sort_key)
  );

  CREATE TABLE ~blob (
    scope_id text COLLATE "C" NOT NULL, hash text COLLATE "C" NOT NULL, body text NOT NULL, PRIMARY KEY (scope_id, hash)
  );
  CREATE TABLE ~blob_use (
    scope_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL, hash text COLLATE "C" NOT NULL,
    PRIMARY KEY (scope_id, thread_id, hash)
  );
  CREATE INDEX blob_use_hash ON ~blob_use (scope_id, hash);
  `,
  'ALTER TABLE ~thread ADD COLUMN incarnation text COLLATE "C"',
  `
  CREATE TABLE ~wish (
    scope_id text COLLATE "C" NOT NULL, wish_id text COLLATE "C" NOT NULL, thread_id text COLLATE "C" NOT NULL,
    run_id text COLLATE "C" NOT NULL, ticket_id text COLLATE "C", created_at double precision NOT NULL, taken_at double precision,
    place bigint GENERATED ALWAYS AS IDENTITY, record json NOT NULL,
    PRIMARY KEY (scope_id, wish_id)
  );
  CREATE UNIQUE INDEX wish_ticket ON ~wish (scope_id, run_id, ticket_id) WHERE ticket_id IS NOT NULL;
  CREATE INDEX wish_open ON ~wish (scope_id, run_id) WHERE taken_at IS NULL;
  CREATE INDEX wish_thread ON ~wish (scope_id, thread_id);

  CREATE TABLE ~outbound (
    scope_id text COLLATE "C" NOT NULL, outbound_id text COLLATE "C" NOT NULL, created_at double precision NOT NULL,
    PRIMARY KEY (scope_id, outbound_id)
  );
  CREATE INDEX outbound_age ON ~outbound (created_at);

  ALTER TABLE ~run ADD COLUMN parent_run_id text COLLATE "C", ADD COLUMN root_run_id text COLLATE "C";
  CREATE INDEX run_parent ON ~run (scope_id, parent_run_id) WHERE parent_run_id IS NOT NULL;
  CREATE INDEX run_root ON ~run (scope_id, root_run_id) WHERE root_run_id IS NOT NULL;
  `,
  "CREATE INDEX dispatch_dead ON ~dispatch (scope_id, created_at, dispatch_id) WHERE status = 'dead-letter'",
  `
  DROP INDEX ~wish_ticket;
  CREATE UNIQUE INDEX wish_ticket ON ~wish (scope_id, run_id, ticket_id) WHERE ticket_id IS NOT NULL AND taken_at IS NULL;
  `,
  // Few rows: of the runs that wait, those that wait for tasks. Their text is searched: JSON functions refuse strings that records may hold.
  `CREATE INDEX run_tasks ON ~run (scope_id, thread_id)
     WHERE status = 'waiting' AND strpos(record::text, '"reason":"awaiting-tasks"') > 0`,
  // How a statement fails that was to find rows as they were remembered (`known-commit.ts`).
  `CREATE FUNCTION ~refuse() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN
     RAISE EXCEPTION 'the rows are not as they were remembered' USING ERRCODE = 'serialization_failure';
   END $$`,
  [
    ...["thread (scope_id, thread_id)", "run (scope_id, run_id)", "dispatch (scope_id, dispatch_id)"],
    ...["ledger (scope_id, idempotency_key)", "wish (scope_id, wish_id)"],
  ]
    .map(keyLast)
    .join(""),
  // An index that looks into the record would be written with each change of it, and all others of the table with it.
  `
  DROP INDEX ~run_tasks;
  ALTER TABLE ~run ADD COLUMN awaits_tasks boolean GENERATED ALWAYS AS (strpos(record::text, '"reason":"awaiting-tasks"') > 0) STORED;
  CREATE INDEX run_tasks ON ~run (scope_id, thread_id) WHERE status = 'waiting' AND awaits_tasks;
  `,
  // The large parts that a row names, by their hashes (`blobs.ts`). Each is asked for as a single value: a join may be planned, while there are
  // few, as a walk through all that there are.
  `CREATE FUNCTION ~bodies(scope text, parts text) RETURNS json LANGUAGE sql STABLE AS $$
     SELECT json_object_agg(hash, (SELECT b.body FROM ~blob b WHERE b.scope_id = scope AND b.hash = used.hash))
     FROM (SELECT DISTINCT m[1] AS hash FROM regexp_matches(parts, '[0-9a-f]{64}', 'g') AS m) AS used $$`,
  // What a new dispatch stands behind, among however many that are over. A run that is claimed when it begins is never in it.
  `CREATE INDEX dispatch_queued ON ~dispatch (scope_id, thread_id, created_at, dispatch_id) WHERE status = 'queued';
   ${keyLast("dispatch (scope_id, dispatch_id)")}`,
];

const ignore = () => {};

/**
 * Undefined before the first migration. Asked of the catalogue, and not by a name: a session may remember that a name meant nothing,
 * while another one was giving it a meaning.
 */
async function loadVersion(client: PgClient, schema: string, clock: ServerClock): Promise<number | undefined> {
  const text = `SELECT count(*) AS tables, ${SERVER_TIME} FROM pg_tables WHERE schemaname = '${schema}' AND tablename = 'awaken_version'`;
  const [found] = await clock.hear(async () => (await client.query(text)).rows);
  if (found === undefined || numberOf(found, "tables") === 0) return undefined;
  const { rows } = await client.query(`SELECT version FROM ${schema}.awaken_version`);
  return rows[0] === undefined ? 0 : numberOf(rows[0], "version");
}

async function upgrade(client: PgClient, schema: string, migrations: readonly string[], clock: ServerClock): Promise<void> {
  await client.query(BEGIN);
  // Ten nodes may start at once: one migrates, the others wait here and find it done.
  await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('awaken migrate ${schema}', 0))`);
  const found = await loadVersion(client, schema, clock);
  checkKnown(found ?? 0, migrations.length, schema);
  if (found === undefined) {
    const { rows } = await client.query(`SELECT 1 FROM pg_namespace WHERE nspname = '${schema}'`);
    // To make a schema takes a right that the user of one that exists may not have.
    if (rows.length === 0) await client.query(`CREATE SCHEMA ${schema}`);
    await client.query(`CREATE TABLE ${schema}.awaken_version (version integer NOT NULL)`);
    await client.query(`INSERT INTO ${schema}.awaken_version VALUES (0)`);
  }
  for (const step of migrations.slice(found ?? 0)) await client.query(step.replaceAll("~", `${schema}.`));
  await client.query(`UPDATE ${schema}.awaken_version SET version = ${migrations.length}`);
  await client.query("COMMIT");
}

function checkKnown(found: number, known: number, schema: string): void {
  if (found <= known) return;
  const message = `PostgreSQL schema '${schema}' has version ${found} of the tables, this program knows up to ${known}`;
  throw new AwakenError("storage_too_new", message, { details: { schema, found, known } });
}

/** A program that is at work holds locks in an order of its own: then one of both is refused. */
const MAX_UPGRADES = 5;

async function tryUpgrade(client: PgClient, schema: string, migrations: readonly string[], clock: ServerClock): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await upgrade(client, schema, migrations, clock);
    } catch (thrown) {
      if (tries === MAX_UPGRADES || !isWorthAnotherTry(thrown)) throw thrown;
      await client.query("ROLLBACK");
    }
  }
}

/** Brings the tables up to the last migration, in one transaction; `storage_too_new` when they are past it. */
export async function migrate(
  pool: PgPool,
  schema: string,
  migrations: readonly string[] = MIGRATIONS,
  clock = new ServerClock(),
): Promise<void> {
  const client = await pool.connect();
  client.on("error", ignore);
  let isLost = false;
  try {
    const found = await loadVersion(client, schema, clock);
    if (found === migrations.length) return;
    checkKnown(found ?? 0, migrations.length, schema);
    await tryUpgrade(client, schema, migrations, clock);
  } catch (thrown) {
    isLost = isConnectionLost(thrown);
    if (!isLost) await client.query("ROLLBACK").catch(ignore);
    throw toStorageError(thrown);
  } finally {
    client.removeListener("error", ignore);
    client.release(isLost);
  }
}
