import type { ContextMessageInput } from "@awaken/contract";

export const KNOWLEDGE_CUTOFF_KEY = "knowledge_cutoff.context";
/** The agent section that switches it off with `enabled: false`. */
export const KNOWLEDGE_CUTOFF_SECTION = "knowledge_cutoff_context";

const PRIORITY = -100;

/** Tells the model what day it is and where its knowledge ends. `cutoff` must be trusted: it becomes part of the instructions. */
export function knowledgeCutoff(cutoff: string, nowMs: number): ContextMessageInput {
  const today = new Date(nowMs).toISOString().slice(0, "YYYY-MM-DD".length);
  return {
    key: KNOWLEDGE_CUTOFF_KEY,
    role: "system",
    target: "system",
    priority: PRIORITY,
    content: `Today is ${today} (UTC). Your knowledge ends at ${cutoff}; for anything later, rely on what you are given or look it up.`,
  };
}
