import type { ScopeId } from "@awaken/contract";
import type { Env } from "../sql/env.ts";
import type { Written } from "../sql/last-written.ts";
import type { Channels } from "../sql/listeners.ts";
import type { ViewCache } from "../sql/view-cache.ts";
import type { Session } from "./session.ts";

/** How the ports of one tenant get at the database. */
export interface Access {
  readonly scopeId: ScopeId;
  readonly session: Session;
  readonly env: Env;
  readonly channels: Channels;
  readonly written: Written;
  /** None inside a transaction, which may see what never comes to be. */
  readonly views: ViewCache | undefined;
}
