/*
 * What the plugins of every agent do beside counting steps: conditions judged, messages put into the prompt, conversations that became too
 * long summarised. Loaded in one piece, behind the door of `seldom-door.ts`.
 */
export { begin, startSummary } from "./compaction/begin.ts";
export { compactionsOf } from "./compaction/compaction-task.ts";
export { tellCutoff } from "./knowledge-cutoff/tell-cutoff.ts";
export { addMessage } from "./loop-actions/add-message.ts";
export { hideTools, offerOnly, setOverride } from "./loop-actions/change-step.ts";
export { judgeTurn } from "./stop-policy/judge-turn.ts";
