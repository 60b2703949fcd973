import type { ContextMessage } from "@awaken/contract";
import { defineAction } from "../phase/action.ts";
import { lateSchema } from "../state/late-schema.ts";

type Needed = "key" | "role" | "content" | "target";

/** A context message as it is written: what has a default may be left out. */
export type ContextMessageDraft = Pick<ContextMessage, Needed> & Partial<Omit<ContextMessage, Needed>>;

// What a hook or a tool schedules to change the next request. The plugin `__loop_action_handlers` handles them.

/** Shows the model a message that the thread does not keep; one of the same key replaces it. */
export const addContextMessage = defineAction<ContextMessageDraft>("runtime.add_context_message", {
  phase: "beforeInference",
  payload: lateSchema((room) => room.contextMessageSchema),
});

/** Sets parameters for the next inference only. */
export const setInferenceOverride = defineAction("runtime.set_inference_override", {
  phase: "beforeInference",
  payload: lateSchema((room) => room.inferenceOverrideSchema),
});

/** Hides a tool, or each of a list, from the next inference. */
export const excludeTool = defineAction("runtime.exclude_tool", {
  phase: "beforeInference",
  payload: lateSchema((room) => room.excludeToolSchema),
});

/** Offers the next inference only these tools; several such lists add up. */
export const includeOnlyTools = defineAction("runtime.include_only_tools", {
  phase: "beforeInference",
  payload: lateSchema((room) => room.includeOnlyToolsSchema),
});
