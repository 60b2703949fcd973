/** The nine lifecycle points of a run, in order. The first and the last happen once per activation, the rest once per step or call. */
export const PHASES = [
  "runStart",
  "stepStart",
  "beforeInference",
  "afterInference",
  "toolGate",
  "beforeToolExecute",
  "afterToolExecute",
  "stepEnd",
  "runEnd",
] as const;

export type Phase = (typeof PHASES)[number];

/** Phases whose hooks return a command. Gates have their own registration and return a verdict. */
export type HookPhase = Exclude<Phase, "toolGate">;
