import { DEFAULT_SCOPE, type ScopeId, scopeId as toScopeId } from "@awaken/contract";
import type { QueueStore, Retention, ScopedQueueStore } from "@awaken/contract/store";
import { entry, type PortMakers, portsOf } from "../ports.ts";
import { createEnv, type SqlOptions } from "../sql/env.ts";
import { createWritten } from "../sql/last-written.ts";
import { ViewCache } from "../sql/view-cache.ts";
import type { Access } from "./access.ts";
import { commitPort } from "./commit.ts";
import { configPort } from "./config-records.ts";
import type { DatabaseOptions } from "./database.ts";
import { dispatchQueue } from "./dispatch-queue.ts";
import { dispatchPort } from "./dispatches.ts";
import { eventPort } from "./events.ts";
import { Handle } from "./handle.ts";
import { ledgerPort } from "./ledger.ts";
import { livePort } from "./live.ts";
import { messagePort } from "./messages.ts";
import { openFile } from "./open-file.ts";
import { pendingPort } from "./pending.ts";
import { profilePort } from "./profiles.ts";
import { runPort } from "./runs.ts";
import type { Session } from "./session.ts";
import { loadStats } from "./stats.ts";
import { streamCheckpointPort } from "./stream-checkpoints.ts";
import { sweepTables } from "./sweep.ts";
import { threadPort } from "./threads.ts";
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

export interface SqliteStoreOptions extends SqlOptions, DatabaseOptions {}

/**
 * A store in one SQLite file, or in `:memory:`. The file is made and migrated here; what is wrong with it is thrown here too:
 * `storage_io`, `storage_corrupt`, `storage_too_new`. Followers of events also hear of what other processes write; hints stay in this one.
 */
export function sqliteStore(path: string, options: SqliteStoreOptions = {}): QueueStore {
  const views = new ViewCache(options.cacheBytes);
  const written = createWritten(options);
  const file = openFile(path, options);
  const { channels } = file;
  const closing = new AbortController();
  const env = createEnv(options, closing.signal);
  const handle = new Handle(file);

  function scoped(id: ScopeId): ScopedQueueStore {
    const scopeId = toScopeId(id);
    const accessIn = (session: Session, cache?: ViewCache): Access => ({
      scopeId,
      session,
      env,
      channels,
      written,
      views: cache,
    });
    const portsIn = (session: Session, cache?: ViewCache) => portsOf(MAKERS, accessIn(session, cache));
    return {
      scopeId,
      live: livePort(accessIn(handle)),
      ...portsIn(handle, views),
      transaction: (work) => handle.transaction((inside) => work(portsIn(inside))),
    };
  }

  const close = () => {
    const closed = handle.close();
    closing.abort();
    return closed;
  };
  return {
    ...scoped(DEFAULT_SCOPE),
    scoped,
    queue: dispatchQueue({ session: handle, env, channels }),
    sweep: entry((retention: Retention) => sweepTables(handle, retention, env.clock())),
    stats: () => handle.snapshot(loadStats),
    close,
    [Symbol.asyncDispose]: close,
  };
}
