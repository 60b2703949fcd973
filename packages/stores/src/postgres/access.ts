import type { ScopeId } from "@awaken/contract";
import type { Env } from "../sql/env.ts";
import type { Session } from "./session.ts";
import type { Wire } from "./wire.ts";

/** How the ports of one tenant get at the database. */
export interface Access {
  readonly scopeId: ScopeId;
  readonly session: Session;
  readonly env: Env;
  readonly wire: Wire;
}
