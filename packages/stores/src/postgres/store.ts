import { checkOptions, DEFAULT_SCOPE, type PartRules, partRule, RULES, type ScopeId, scopeId as toScopeId } from "@awaken/contract";
import type { QueueStore, Retention, ScopedQueueStore } from "@awaken/contract/store";
import { entry, type PortMakers, portsOf } from "../ports.ts";
import { createEnv, type SqlOptions } from "../sql/env.ts";
import { createWritten } from "../sql/last-written.ts";
import { DEFAULT_CACHE_BYTES, ViewCache } from "../sql/view-cache.ts";
import type { Access } from "./access.ts";
import { commitPort } from "./commit.ts";
import { configPort } from "./config-records.ts";
import { Connections } from "./connections.ts";
import { dispatchQueue } from "./dispatch-queue.ts";
import { dispatchPort } from "./dispatches.ts";
import { createPool, type PgPool } from "./driver.ts";
import { eventPort } from "./events.ts";
import { KnownThreads } from "./known-threads.ts";
import { ledgerPort } from "./ledger.ts";
import { livePort } from "./live.ts";
import { messagePort } from "./messages.ts";
import { pendingPort } from "./pending.ts";
import { profilePort } from "./profiles.ts";
import { runPort } from "./runs.ts";
import { ServerClock } from "./server-clock.ts";
import { PooledSession, type Session } from "./session.ts";
import { checkSchemaName, Merger } from "./statement.ts";
import { loadStats } from "./stats.ts";
import { streamCheckpointPort } from "./stream-checkpoints.ts";
import { sweepTables } from "./sweep.ts";
import { threadPort } from "./threads.ts";
import { Wire } from "./wire.ts";
import { wishPort } from "./wishes.ts";

const MAKERS: PortMakers<Access> = {
  threads: threadPort,
  messages: messagePort,
  runs: runPort,
  pending: pendingPort,
  events: eventPort,
  dispatches: dispatchPort,
  streamCheckpoints: streamCheckpointPort,
  ledger: ledgerPort,
  wishes: wishPort,
  profiles: profilePort,
  config: configPort,
  commit: commitPort,
};

export interface PostgresStoreOptions extends SqlOptions {
  /** Made when it does not exist; `awaken` when left out. Stores of several schemas may share a database. */
  readonly schema?: string;
  /** How many connections may be open, for a pool of our own; 10 when left out. */
  readonly connections?: number;
  /** How long to wait for a connection. Default 10 s. */
  readonly connectTimeoutMs?: number;
  /**
   * False when a pooler hands out another connection with each transaction, such as PgBouncer in transaction mode: nothing is prepared by name,
   * no setting outlives its transaction, and nobody listens there. Give `listenUrl` too: without one, nobody is woken by other processes,
   * and whoever waits asks now and then.
   */
  readonly prepare?: boolean;
  /** The server itself, when the other URL or pool leads to a pooler: one connection to it hears what other processes tell. */
  readonly listenUrl?: string;
}

const bytes = partRule("a number of bytes", (value) => typeof value === "number" && value >= 0);

const OPTIONS: PartRules<PostgresStoreOptions> = {
  schema: RULES.text,
  connections: partRule("a whole number above 0", (value) => Number.isSafeInteger(value) && Number(value) > 0),
  connectTimeoutMs: partRule("milliseconds above 0", (value) => typeof value === "number" && Number.isFinite(value) && value > 0),
  prepare: RULES.flag,
  listenUrl: RULES.name,
  clock: RULES.code,
  ids: RULES.code,
  blobBytes: bytes,
  cacheBytes: bytes,
};

/** Of `cacheBytes`: what commits need not ask; the rest is what readers need not. */
const KNOWN_SHARE = 1 / 8;

/**
 * A store in a PostgreSQL database, for many processes at once. It connects and migrates at the first call, and again after a failure.
 * A pool that is handed in stays open when the store closes. A `transaction` sees one moment: when somebody else has changed since what it
 * writes, it is `version_conflict`, and the caller may try again.
 */
export function postgresStore(urlOrPool: string | PgPool, options: PostgresStoreOptions = {}): QueueStore {
  checkOptions("storage_validation", "postgresStore", options, OPTIONS);
  const { connections: limit = 10, connectTimeoutMs = 10_000 } = options;
  const schema = checkSchemaName(options.schema ?? "awaken");
  const closing = new AbortController();
  const clock = new ServerClock();
  const env = createEnv(options, closing.signal, clock.now);
  const { cacheBytes = DEFAULT_CACHE_BYTES } = options;
  const views = new ViewCache(cacheBytes * (1 - KNOWN_SHARE));
  const written = createWritten(options);
  const isOwn = typeof urlOrPool === "string";
  const { prepare: hasSessions = true, listenUrl } = options;
  // One more for the connection that listens.
  const size = hasSessions && listenUrl === undefined ? limit + 1 : limit;
  const openPool = async () => (isOwn ? createPool({ url: urlOrPool, connections: size, connectTimeoutMs, hasSessions }) : urlOrPool);
  const openListener =
    listenUrl === undefined ? undefined : () => createPool({ url: listenUrl, connections: 1, connectTimeoutMs, hasSessions: true });
  const connections = new Connections({ schema, openPool, isOwn, hasSessions, openListener, clock });
  const session = new PooledSession(connections);
  const wire = new Wire(connections);
  const merger = new Merger();
  const known = new KnownThreads({ maxBytes: cacheBytes * KNOWN_SHARE, blobBytes: env.blobBytes });

  function scoped(id: ScopeId): ScopedQueueStore {
    const scopeId = toScopeId(id);
    const portsIn = (own: Session, memory: Pick<Access, "views" | "known">) =>
      portsOf(MAKERS, { scopeId, session: own, env, clock, wire, written, merger, ...memory });
    return {
      scopeId,
      // Without a way to hear of others, whoever follows has to ask.
      ...(connections.canListen ? { live: livePort({ scopeId, wire }) } : undefined),
      ...portsIn(session, { views, known }),
      transaction: (work) => session.transaction((inside) => work(portsIn(inside, { views: undefined, known: undefined }))),
    };
  }

  const close = () => {
    const closed = connections.close(() => wire.close());
    closing.abort();
    return closed;
  };
  return {
    ...scoped(DEFAULT_SCOPE),
    scoped,
    queue: dispatchQueue({ session, env, clock, wire }),
    sweep: entry((retention: Retention) => sweepTables(session, retention, env.clock())),
    stats: () => loadStats(session, schema),
    close,
    [Symbol.asyncDispose]: close,
  };
}
