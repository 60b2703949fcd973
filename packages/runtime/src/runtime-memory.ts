import type { ScopeId } from "@awaken/contract";
import type { LiveStore, StreamCheckpointStore } from "@awaken/contract/store";
import type { TaskPost } from "./builtin/background/thread-tasks.ts";
import { MemoryThreads } from "./commit/memory-threads.ts";
import type { MessageSink } from "./loop/message-sink.ts";
import type { RunRecords } from "./loop/run-records.ts";
import { nothingKept } from "./relay/readers.ts";
import type { Holds } from "./run/holds.ts";
import type { FollowLeft } from "./run/run-parts.ts";
import type { LateProfiles } from "./state/profile.ts";
import { profiles } from "./state/profiles-door.ts";
import type { Bounds } from "./stream/bounds.ts";
import type { Clock } from "./stream/clock.ts";
import { Door, whenThere } from "./stream/door.ts";

/** Where the records of one tenant are. */
export interface Place {
  readonly profiles: LateProfiles;
  readonly live: LiveStore | undefined;
  readonly follow: FollowLeft;
  /** Undefined where no other process can get at the threads. */
  readonly queue: PlaceInQueue | undefined;
  recordsWithin(bounds: Bounds): RunRecords;
  streamsWithin(bounds: Bounds): StreamCheckpointStore | undefined;
}

/** How threads are held, and how news and messages of agents reach those on which no run is at work here. */
export interface PlaceInQueue {
  readonly holds: Holds;
  readonly post: TaskPost;
  readonly sink: MessageSink;
}

export type FindPlace = (scopeId: ScopeId) => Place;

const nowhere = (): never => {
  throw nothingKept();
};

/** What lives in memory answers always. */
export function placesInMemory(clock: Clock): FindPlace {
  const now = () => clock.now();
  const threads = new MemoryThreads(now);
  const memory = new Door(() => whenThere(profiles.open(), ({ MemoryProfiles }) => new MemoryProfiles(now)));
  return (scopeId) => {
    const records = threads.scoped(scopeId);
    return {
      profiles: () => whenThere(memory.open(), (all) => all.scoped(scopeId)),
      live: undefined,
      // Nobody goes on with a run elsewhere.
      follow: nowhere,
      queue: undefined,
      recordsWithin: () => records,
      streamsWithin: () => undefined,
    };
  };
}
