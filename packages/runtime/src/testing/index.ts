export { StateStore } from "../state/store.ts";
export { crashPoints } from "./crash-points.ts";
export { checkEvents, EventChecker, EventOrderError } from "./event-checker.ts";
export { countingIds, type FakeClock, fakeClock, instantClock, soleNode } from "./fake-clock.ts";
export { cut, failure, parts, type ScriptedCall, type ScriptedTurn, slow, stall, text, toolCall, toolCalls } from "./script.ts";
export { type ScriptedOptions, type ScriptedProvider, type ScriptStep, scripted } from "./scripted.ts";
export { ticketsOf } from "./tickets-of.ts";
