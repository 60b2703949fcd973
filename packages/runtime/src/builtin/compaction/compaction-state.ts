import type { CompactionState } from "@awaken/contract";
import { defineEffect } from "../../phase/effect.ts";
import { defineRuntimeState } from "../../state/key.ts";
import { lateSchema } from "../../state/late-schema.ts";

/** Made by `compactionChange`: what is done with the value is loaded with whoever summarises. */
export type CompactionChange = (value: CompactionState) => CompactionState;

/** How the compactions of this run went. `inFlight` is the one that may still change the conversation. */
export const compactionState = defineRuntimeState("__context_compaction", {
  schema: lateSchema((room) => room.compactionStateSchema),
  initial: (): CompactionState => ({ boundaries: [], failures: [], skipped: [], totalCompactions: 0 }),
  apply: (value, change: CompactionChange): CompactionState => change(value),
});

/** Emitted with the commit that sets the marker: who loses that commit to a conflict starts nothing. */
export const startCompaction = defineEffect("context_compaction.start", { payload: lateSchema((room) => room.compactionOrderSchema) });
