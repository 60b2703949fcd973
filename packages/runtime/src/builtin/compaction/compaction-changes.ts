import type { CompactionState } from "@awaken/contract";
import type { CompactionChange } from "./compaction-state.ts";

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

export const compactionChange =
  (update: CompactionUpdate): CompactionChange =>
  (value) => {
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
  };
