import { type CompactionState, compactionOrderSchema, compactionStateSchema } from "@awaken/contract";
import { defineEffect } from "../../phase/effect.ts";
import { defineRuntimeState } from "../../state/key.ts";

/** Older entries are dropped: the lists travel with every commit of the run. */
const KEPT = 16;

export type CompactionUpdate =
  | { readonly type: "start"; readonly task: NonNullable<CompactionState["inFlight"]> }
  | { readonly type: "compacted"; readonly boundary: CompactionState["boundaries"][number] }
  | { readonly type: "failed"; readonly failure: CompactionState["failures"][number] }
  | { readonly type: "skipped"; readonly skip: CompactionState["skipped"][number] }
  /** The messages were gone when the summary came. */
  | { readonly type: "dropped" };

const kept = <T>(list: readonly T[], entry: T): readonly T[] => [...list, entry].slice(-KEPT);

/** How the compactions of this run went. `inFlight` is the one that may still change the conversation. */
export const compactionState = defineRuntimeState("__context_compaction", {
  schema: compactionStateSchema,
  initial: (): CompactionState => ({ boundaries: [], failures: [], skipped: [], totalCompactions: 0 }),
  apply(value, update: CompactionUpdate): CompactionState {
    const { inFlight: _over, ...rest } = value;
    switch (update.type) {
      case "start":
        return { ...rest, inFlight: update.task };
      case "compacted":
        return { ...rest, boundaries: kept(rest.boundaries, update.boundary), totalCompactions: rest.totalCompactions + 1 };
      case "failed":
        return { ...rest, failures: kept(rest.failures, update.failure) };
      case "skipped":
        return { ...rest, skipped: kept(rest.skipped, update.skip) };
      case "dropped":
        return rest;
    }
  },
});

/** Emitted with the commit that sets the marker: who loses that commit to a conflict starts nothing. */
export const startCompaction = defineEffect("context_compaction.start", { payload: compactionOrderSchema });
