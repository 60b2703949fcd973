/*
 * What a run does without that begins on a thread where nothing is open, with one agent that runs here, and comes to its end. Loaded in one
 * piece, behind the door of `run/seldom-door.ts`.
 */

export { askGates } from "./ask-gates.ts";
export { bindPlugins } from "./bindings.ts";
export { closeCalls } from "./close-calls.ts";
export { takeSeededDecisions } from "./decisions/take-decisions.ts";
export { followHandoffs } from "./follow-handoffs.ts";
export { judge, judgeEarly } from "./judge-output.ts";
export { readNews } from "./read-news.ts";
export { abortRemote, runRemoteStep } from "./remote-step.ts";
export { checkParent, checkStands, closeLeft, findNamed, findWork, finishCalls, hintedRun, namedRun } from "./resume/seldom.ts";
export { agentRunner } from "./run-agent.ts";
export { shrink } from "./shrink-request.ts";
export { suspend } from "./suspend.ts";
export { takeIn } from "./take-in.ts";
export { findOutcome, knownResults } from "./unknown-outcome.ts";
