import type { StreamCheckpointStore } from "@awaken/contract/store";
import type { CheckpointSlot } from "../inference/stream-checkpoint.ts";
import type { RunContext } from "./run-context.ts";

/** Where the answer that is being streamed in this step is kept. A slot that cannot be loaded fails as one does that cannot be written. */
export function lateSlot({ seldom, identity, tally: { steps } }: RunContext, store: StreamCheckpointStore): CheckpointSlot {
  const slot = async () => (await seldom.open()).streamSlot(store, identity, steps);
  return {
    load: async () => (await slot()).load(),
    save: async (checkpoint) => (await slot()).save(checkpoint),
    delete: async () => (await slot()).delete(),
  };
}
