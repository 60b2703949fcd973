import { callFields, TOOL_CALL_STATUSES } from "./lifecycle.ts";
import * as s from "./schema/all.ts";
import {
  decisionSchema,
  jsonObjectSchema,
  jsonValueSchema,
  resumeModeSchema,
  runIdSchema,
  runStatusSchema,
  ticketIdSchema,
  waitingReasonSchema,
} from "./stored.ts";
import { terminationSchema } from "./termination-schema.ts";

/** Where a run stands. `termination` keeps the whole reason, so that nothing is lost on the way through a string. */
export const runLifecycleSchema = s.object({
  runId: runIdSchema,
  status: runStatusSchema,
  waitingReason: s.exactOptional(waitingReasonSchema),
  termination: s.exactOptional(terminationSchema),
  stepCount: s.int().check(s.atLeast(0)),
  updatedAt: s.number(),
});
export type RunLifecycle = s.output<typeof runLifecycleSchema>;

const waitSchema = s.object({
  id: ticketIdSchema,
  action: s.string(),
  message: s.exactOptional(s.string()),
  parameters: s.exactOptional(jsonValueSchema),
  responseSchema: s.exactOptional(jsonObjectSchema),
  canEdit: s.exactOptional(s.boolean()),
  expiresAt: s.exactOptional(s.number()),
});

function dropBlankMessage({ message, ...rest }: s.output<typeof waitSchema>): s.output<typeof waitSchema> {
  return message?.trim() ? { ...rest, message } : rest;
}

/** What a call waits for. A blank message is as good as none, and none is left out: it is stored again as it was read. */
const suspensionSchema = s.transform(waitSchema, dropBlankMessage);

/** A decision that the call was on its way with when its process died; it still holds when the call is run again. */
const earlierSchema = s.object({ suspension: suspensionSchema, resumeMode: resumeModeSchema, decision: decisionSchema });

export const toolCallStateSchema = s.object({
  ...callFields,
  status: s.enum(TOOL_CALL_STATUSES),
  /** What the call waits for, while it is suspended or being resumed. */
  suspension: s.exactOptional(suspensionSchema),
  /** The decision that resumes it. */
  decision: s.exactOptional(decisionSchema),
  earlier: s.exactOptional(earlierSchema),
});
export type ToolCallState = s.output<typeof toolCallStateSchema>;

/** In the order of their first update; each call once. */
export const toolCallStatesSchema = s.object({ calls: s.readonly(s.array(toolCallStateSchema)) });
export type ToolCallStates = s.output<typeof toolCallStatesSchema>;
