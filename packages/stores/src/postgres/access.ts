import type { ScopeId } from "@awaken/contract";
import type { Env } from "../sql/env.ts";
import type { Written } from "../sql/last-written.ts";
import type { ViewCache } from "../sql/view-cache.ts";
import type { KnownThreads } from "./known-threads.ts";
import type { ServerClock } from "./server-clock.ts";
import type { Session } from "./session.ts";
import type { Merger } from "./statement.ts";
import type { Wire } from "./wire.ts";

/** How the ports of one tenant get at the database. */
export interface Access {
  readonly scopeId: ScopeId;
  readonly session: Session;
  readonly env: Env;
  readonly clock: ServerClock;
  readonly wire: Wire;
  readonly written: Written;
  readonly merger: Merger;
  /** None inside a transaction, which may see what never comes to be. */
  readonly views: ViewCache | undefined;
  /** None inside a transaction either. */
  readonly known: KnownThreads | undefined;
}
