import type { AgentEvent, Log, ScopedStore } from "@awaken/contract";
import type { Resolver } from "../resolve/resolver.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import type { ActiveRuns } from "./active-runs.ts";

/** What every run of one runtime shares. */
export interface RunParts {
  readonly resolver: Resolver;
  readonly store: ScopedStore | undefined;
  readonly active: ActiveRuns;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly cancelGraceMs: number;
}

export type Listen = (event: AgentEvent) => void;
