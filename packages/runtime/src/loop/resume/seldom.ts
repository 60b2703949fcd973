// What a run that begins on a thread where nothing is open does without: `loop/seldom.ts` has it with the rest.

export { endingPlan } from "./ending-plan.ts";
export { findNamed } from "./find-named.ts";
export { finishCalls } from "./finish-calls.ts";
export { checkParent, checkStands, hintedRun, namedRun } from "./named-run.ts";
export { recall } from "./recall.ts";
export { takeOver } from "./take-over.ts";
