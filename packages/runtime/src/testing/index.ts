export { checkEvents, EventChecker, EventOrderError } from "./event-checker.ts";
export { countingIds, type FakeClock, fakeClock, instantClock } from "./fake-clock.ts";
export { decide, eventTypes, lifecycleTypes, runScripted, type ScriptedRun, type ScriptedRunInit, userMessage } from "./run-scripted.ts";
export {
  cut,
  failure,
  parts,
  SCRIPTED_USAGE,
  type ScriptedCall,
  type ScriptedTurn,
  type ScriptItem,
  slow,
  stall,
  text,
  toolCall,
  toolCalls,
} from "./script.ts";
export { type ScriptedOptions, type ScriptedProvider, type ScriptStep, scripted } from "./scripted.ts";
export { ThreadLog } from "./thread-log.ts";
