export { CRASH_POINTS, CrashError, type CrashPlan, type CrashPoint, type CrashPoints, crashPoints } from "./crash-points.ts";
export { checkEvents, EventChecker, EventOrderError } from "./event-checker.ts";
export { type EventRecorder, recordEvents, recordStream } from "./event-recorder.ts";
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
export { ticketsOf } from "./tickets-of.ts";
