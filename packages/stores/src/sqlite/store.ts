import { DEFAULT_SCOPE, type ScopedStore, type ScopeId, type Store, type StorePorts, scopeId as toScopeId } from "@awaken/contract";
import { createEnv, type SqlOptions } from "../sql/env.ts";
import { createChannels } from "../sql/listeners.ts";
import type { Access } from "./access.ts";
import { commitPort } from "./commit.ts";
import { configPort } from "./config-records.ts";
import { Database, type DatabaseOptions } from "./database.ts";
import { dispatchQueue } from "./dispatch-queue.ts";
import { dispatchPort } from "./dispatches.ts";
import { eventPort } from "./events.ts";
import { ledgerPort } from "./ledger.ts";
import { messagePort } from "./messages.ts";
import { migrate } from "./migrations.ts";
import { watchNeighbours } from "./neighbours.ts";
import { pendingPort } from "./pending.ts";
import { profilePort } from "./profiles.ts";
import { runPort } from "./runs.ts";
import { type Session, Writer } from "./session.ts";
import { loadStats } from "./stats.ts";
import { streamCheckpointPort } from "./stream-checkpoints.ts";
import { sweepTables } from "./sweep.ts";
import { threadPort } from "./threads.ts";

export interface SqliteStoreOptions extends SqlOptions, DatabaseOptions {}

const IN_MEMORY = ":memory:";

/**
 * A store in one SQLite file, or in `:memory:`. The file is made and migrated here; what is wrong with it is thrown here too:
 * `storage_io`, `storage_corrupt`, `storage_too_new`.
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): Store {
  const db = openMigrated(path, options);
  const closing = new AbortController();
  const env = createEnv(options, closing.signal);
  const channels = createChannels();
  const writer = new Writer(db, { isGrouping: path !== IN_MEMORY && options.synchronous !== "normal" });
  const unwatch = watchNeighbours(db, channels.bells);

  function scoped(id: ScopeId): ScopedStore {
    const scopeId = toScopeId(id);
    const portsIn = (session: Session) => portsOf({ scopeId, session, env, channels });
    return { scopeId, ...portsIn(writer), transaction: (work) => writer.transaction((inside) => work(portsIn(inside))) };
  }

  const close = () => {
    unwatch();
    const closed = writer.close();
    closing.abort();
    return closed;
  };
  return {
    ...scoped(DEFAULT_SCOPE),
    scoped,
    queue: dispatchQueue({ session: writer, env, channels }),
    sweep: (retention) => sweepTables(writer, retention, env.clock()),
    stats: () => writer.snapshot(loadStats),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function openMigrated(path: string, options: DatabaseOptions): Database {
  const db = Database.open(path, options);
  try {
    migrate(db);
    return db;
  } catch (thrown) {
    db.close();
    throw thrown;
  }
}

function portsOf(access: Access): StorePorts {
  return {
    threads: threadPort(access),
    messages: messagePort(access),
    runs: runPort(access),
    pending: pendingPort(access),
    events: eventPort(access),
    dispatches: dispatchPort(access),
    streamCheckpoints: streamCheckpointPort(access),
    ledger: ledgerPort(access),
    profiles: profilePort(access),
    config: configPort(access),
    commit: commitPort(access),
  };
}
