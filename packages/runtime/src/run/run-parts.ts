import type { Log } from "@awaken/contract";
import type { LedgerStore, MessageStore, ProfileStore, RunStore, StreamCheckpointStore, ThreadStore } from "@awaken/contract/store";
import type { CommitStore } from "../commit/commit-store.ts";
import type { Resolver } from "../resolve/resolver.ts";
import type { Bounds, Limits } from "../stream/bounds.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import type { ActiveRuns } from "./active-runs.ts";
import type { LiveOutputs } from "./live-outputs.ts";

interface Records extends CommitStore {
  readonly threads: Pick<ThreadStore, "load" | "loadCheckpoint">;
  readonly runs: Pick<RunStore, "load" | "listByTicket">;
}

/** Records that go with the process. */
export interface VolatileRecords extends Records {
  readonly messages: Pick<MessageStore, "load">;
  readonly ledger: undefined;
}

export interface LastingRecords extends Records {
  readonly messages: Pick<MessageStore, "load" | "list">;
  readonly ledger: Pick<LedgerStore, "load" | "list">;
}

/** What runs need of a store. */
export type RunRecords = VolatileRecords | LastingRecords;

/** What every run of one runtime shares. */
export interface RunParts {
  readonly resolver: Resolver;
  readonly records: RunRecords;
  readonly profiles: ProfileStore;
  readonly streams: StreamCheckpointStore | undefined;
  readonly active: ActiveRuns;
  readonly outputs: LiveOutputs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly cancelGraceMs: number;
  readonly limits: Limits;
  /** How long whatever the runtime, or the run that these parts are bound to, waits for may take. */
  readonly bounds: Bounds;
  /** The same parts for one run, whose requests to the store are raced against its abort. */
  boundTo(bounds: Bounds): RunParts;
  /** Aborted when the runtime is closed: nothing starts and nobody waits any more. */
  readonly closing: AbortSignal;
}
