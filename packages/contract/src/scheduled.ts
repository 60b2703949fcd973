import { type HookPhase, PHASES } from "./phase.ts";
import * as s from "./schema/all.ts";
import { jsonValueSchema } from "./stored-values.ts";

const hookPhaseSchema = s.custom<HookPhase>(
  (value) => PHASES.some((phase) => phase === value) && value !== "toolGate",
  "expected the name of a phase",
);

/** An action that waits for its phase. Ids rise in the order of scheduling. */
export const queuedActionSchema = s.object({
  id: s.int().check(s.atLeast(0)),
  action: s.object({ phase: hookPhaseSchema, key: s.string(), payload: jsonValueSchema }),
});
export type QueuedAction = s.output<typeof queuedActionSchema>;
export const queuedActionsSchema = s.readonly(s.array(queuedActionSchema));

/** An action that could not run, and why. */
export const failedActionSchema = s.object({ ...queuedActionSchema.fields, error: s.string() });
export type FailedAction = s.output<typeof failedActionSchema>;
export const failedActionsSchema = s.readonly(s.array(failedActionSchema));
