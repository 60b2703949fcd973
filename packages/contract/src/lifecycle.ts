import * as z from "zod";
import { messageId } from "./ids.ts";
import {
  decisionSchema,
  jsonObjectSchema,
  jsonValueSchema,
  resumeModeSchema,
  runIdSchema,
  runStatusSchema,
  terminationSchema,
  ticketIdSchema,
  toolCallIdSchema,
  waitingReasonSchema,
} from "./stored.ts";

/** Where a run stands. `termination` keeps the whole reason, so that nothing is lost on the way through a string. */
export const runLifecycleSchema = z.object({
  runId: runIdSchema,
  status: runStatusSchema,
  waitingReason: waitingReasonSchema.exactOptional(),
  termination: terminationSchema.exactOptional(),
  stepCount: z.number().int().nonnegative(),
  updatedAt: z.number(),
});
export type RunLifecycle = z.output<typeof runLifecycleSchema>;

export const TOOL_CALL_STATUSES = ["new", "running", "suspended", "resuming", "succeeded", "failed", "cancelled"] as const;
export type ToolCallStatus = (typeof TOOL_CALL_STATUSES)[number];

const NEXT: Record<ToolCallStatus, readonly ToolCallStatus[]> = {
  new: TOOL_CALL_STATUSES,
  running: ["suspended", "succeeded", "failed", "cancelled"],
  suspended: ["resuming", "cancelled"],
  resuming: ["running", "suspended", "succeeded", "failed", "cancelled"],
  succeeded: [],
  failed: [],
  cancelled: [],
};

export function canToolCallMove(from: ToolCallStatus, to: ToolCallStatus): boolean {
  return from === to || NEXT[from].includes(to);
}

export function isToolCallOver(status: ToolCallStatus): boolean {
  return NEXT[status].length === 0;
}

/** What a call waits for. A blank message is as good as none, and none is left out: it is stored again as it was read. */
const suspensionSchema = z
  .object({
    id: ticketIdSchema,
    action: z.string(),
    message: z.string().exactOptional(),
    parameters: jsonValueSchema.exactOptional(),
    responseSchema: jsonObjectSchema.exactOptional(),
  })
  .transform(({ message, ...rest }): typeof rest & { message?: string } => (message?.trim() ? { ...rest, message } : rest));

export const toolCallStateSchema = z.object({
  id: toolCallIdSchema,
  /** The assistant message that asks for it. */
  messageId: z.string().transform((value) => messageId(value)),
  name: z.string(),
  /** Whose tool it is: the thread may have been handed on since. */
  agentId: z.string().exactOptional(),
  /** As the model wrote it; an edited input is on the decision. */
  input: jsonValueSchema,
  status: z.enum(TOOL_CALL_STATUSES),
  resumeMode: resumeModeSchema,
  updatedAt: z.number(),
  /** What the call waits for, while it is suspended or being resumed. */
  suspension: suspensionSchema.exactOptional(),
  /** The decision that resumes it. */
  decision: decisionSchema.exactOptional(),
});
export type ToolCallState = z.output<typeof toolCallStateSchema>;

/** In the order of their first update; each call once. */
export const toolCallStatesSchema = z.object({ calls: z.array(toolCallStateSchema).readonly() });
export type ToolCallStates = z.output<typeof toolCallStatesSchema>;
