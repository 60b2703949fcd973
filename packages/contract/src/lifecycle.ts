import * as s from "./schema/all.ts";
import { idOf, jsonValueSchema, resumeModeSchema, toolCallIdSchema } from "./stored-values.ts";

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

/** What every call has. */
export const callFields = {
  id: toolCallIdSchema,
  /** The assistant message that asks for it. */
  messageId: idOf("message"),
  name: s.string(),
  /** Whose tool it is: the thread may have been handed on since. */
  agentId: s.exactOptional(s.string()),
  /** As the model wrote it; an edited input is on the decision. */
  input: jsonValueSchema,
  resumeMode: resumeModeSchema,
  updatedAt: s.number(),
};
