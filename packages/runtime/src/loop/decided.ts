import { type Decided, decidedSchema } from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";

/** Decisions that this run has taken. */
export const decided = defineRuntimeState("decided", {
  merge: "commutative",
  schema: decidedSchema,
  initial: (): Decided => ({ entries: [] }),
  apply: (value, entry: Decided["entries"][number]) => ({ entries: [...value.entries, entry] }),
});
