import * as z from "zod";
import { type HookPhase, PHASES } from "./phase.ts";
import { jsonValueSchema } from "./stored.ts";

const hookPhaseSchema = z.custom<HookPhase>(
  (value) => PHASES.some((phase) => phase === value) && value !== "toolGate",
  "expected the name of a phase",
);

/** An action that waits for its phase. Ids rise in the order of scheduling. */
export const queuedActionSchema = z.object({
  id: z.number().int().nonnegative(),
  action: z.object({ phase: hookPhaseSchema, key: z.string(), payload: jsonValueSchema }),
});
export type QueuedAction = z.output<typeof queuedActionSchema>;
export const queuedActionsSchema = z.array(queuedActionSchema).readonly();

/** An action that could not run, and why. */
export const failedActionSchema = queuedActionSchema.extend({ error: z.string() });
export type FailedAction = z.output<typeof failedActionSchema>;
export const failedActionsSchema = z.array(failedActionSchema).readonly();
