/*
 * What a run does without that begins on a thread where nothing is open, with one agent that runs here, and comes to its end. Loaded in one
 * piece, behind the door of `run/seldom-door.ts`.
 */

export { abandonCalls } from "./abandon-calls.ts";
export { askGates } from "./ask-gates.ts";
export { awaitTasks, lookAfterTasks, readInput } from "./await-tasks.ts";
export { bindPlugins } from "./bindings.ts";
export { callResumed } from "./call-resumed.ts";
export { allTickets, endBegun } from "./end-begun.ts";
export { followHandoffs } from "./follow-handoffs.ts";
export { askInside, executeInside } from "./inside.ts";
export { judge, judgeEarly } from "./judge-output.ts";
export { tellLost } from "./lost-input.ts";
export { closeOpen, finishOdd, intercept, putOnRecord } from "./odd-round.ts";
export { abortRemote, runRemoteStep } from "./remote-step.ts";
export {
  checkParent,
  checkStands,
  endingPlan,
  findNamed,
  finishCalls,
  hintedRun,
  namedRun,
  recall,
  takeOver,
} from "./resume/seldom.ts";
export { agentRunner } from "./run-agent.ts";
export { shrink } from "./shrink-request.ts";
export { streamSlot } from "./stream-slot.ts";
export { suspend } from "./suspend.ts";
export { announceTicket, suspendedState, ticketed } from "./suspended-calls.ts";
export { takeIn } from "./take-in.ts";
export { findOutcome } from "./unknown-outcome.ts";
