import type { HookPhase, Log } from "@awaken/contract";
import type { RunState } from "../state/run-state.ts";
import type { Snapshot } from "../state/snapshot.ts";
import type { Bounds } from "../stream/bounds.ts";
import type { CalledHooks } from "./called-hooks.ts";
import type { Command } from "./command.ts";
import type { HookInput, PhaseFacts, PhaseTable, Seat } from "./hook.ts";

export type PhaseOutcome = "completed" | "cancelled";

/** These close what was begun, so they run also after an abort. */
export const CLOSING: ReadonlySet<HookPhase> = new Set<HookPhase>(["stepEnd", "runEnd"]);

/** A phase, and what its hooks gave when they were called already. */
export type WholePhase<P extends HookPhase> = [
  phase: P,
  facts: PhaseFacts[P],
  first: Command | undefined,
  called: CalledHooks<P> | undefined,
];

/** The engine, as `whole-phase.ts` knows it: what has the lock runs alone. */
export interface LockedEngine {
  readonly store: RunState;
  readonly table: PhaseTable;
  readonly seat: Seat;
  readonly log: Log;
  readonly bounds: Bounds;
  readonly maxRounds: number;
  failedEffects: number;
  /** Of the last action that was queued; 0 before the first. */
  lastActionId: number;
  inputs<P extends HookPhase>(phase: P, facts: PhaseFacts[P]): (state: Snapshot) => HookInput<P>;
  isCancelled(phase: HookPhase): boolean;
  /** Commits at once; the promise, if there is one, is that of the effects. */
  submitNow(given: Command): Promise<void> | undefined;
}
