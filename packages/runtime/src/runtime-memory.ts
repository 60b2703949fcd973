import type { ScopeId } from "@awaken/contract";
import type { LiveStore, StreamCheckpointStore } from "@awaken/contract/store";
import { MemoryThreads } from "./commit/memory-threads.ts";
import type { RunRecords } from "./loop/run-records.ts";
import type { LateProfiles } from "./state/profile.ts";
import { profiles } from "./state/profiles-door.ts";
import type { Bounds } from "./stream/bounds.ts";
import { Door, whenThere } from "./stream/door.ts";

/** Where the records of one tenant are. */
export interface Place {
  readonly profiles: LateProfiles;
  readonly live: LiveStore | undefined;
  recordsWithin(bounds: Bounds): RunRecords;
  streamsWithin(bounds: Bounds): StreamCheckpointStore | undefined;
}

export type FindPlace = (scopeId: ScopeId) => Place;

/** What lives in memory answers always. */
export function placesInMemory(now: () => number): FindPlace {
  const threads = new MemoryThreads(now);
  const memory = new Door(() => whenThere(profiles.open(), ({ MemoryProfiles }) => new MemoryProfiles(now)));
  return (scopeId) => {
    const records = threads.scoped(scopeId);
    return {
      profiles: () => whenThere(memory.open(), (all) => all.scoped(scopeId)),
      live: undefined,
      recordsWithin: () => records,
      streamsWithin: () => undefined,
    };
  };
}
