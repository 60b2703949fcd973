import type { RunId } from "@awaken/contract";
import { type StreamCheckpointStore, streamCheckpoint } from "@awaken/contract/store";
import { own } from "./own.ts";
import { share } from "./share.ts";
import type { Access, Change } from "./tables.ts";

export function streamCheckpointPort({ read, write }: Access): StreamCheckpointStore {
  return {
    put: (checkpoint) =>
      write(({ tables, journal }) => {
        const owned = own(streamCheckpoint.check(checkpoint));
        const steps = tables.streamCheckpoints.get(owned.runId);
        if (steps === undefined) journal.set(tables.streamCheckpoints, owned.runId, new Map([[owned.step, owned]]));
        else journal.set(steps, owned.step, owned);
      }),

    load: (runId, step) => read((tables) => share(tables.streamCheckpoints.get(runId)?.get(step))),

    delete: (runId, step) => write((change) => dropCheckpoint(change, runId, step)),
  };
}

export function dropCheckpoint({ tables, journal }: Change, runId: RunId, step: number): void {
  const steps = tables.streamCheckpoints.get(runId);
  if (steps?.has(step) !== true) return;
  if (steps.size === 1) journal.delete(tables.streamCheckpoints, runId);
  else journal.delete(steps, step);
}
