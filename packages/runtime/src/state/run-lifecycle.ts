import {
  canRunMove,
  copyJson,
  type RunId,
  type RunLifecycle,
  type RunStatus,
  type Termination,
  terminationSchema,
  validateSync,
  type WaitingReason,
} from "@awaken/contract";
import { defineTrustedState } from "./key.ts";
import { lateSchema } from "./late-schema.ts";

export type RunLifecycleUpdate =
  | {
      readonly type: "start";
      /** The run that begins. */
      readonly runId: RunId;
      /** When, in ms. */
      readonly at: number;
    }
  | {
      readonly type: "step-completed";
      /** When, in ms. */
      readonly at: number;
    }
  | {
      readonly type: "set-waiting";
      /** What the run waits for. */
      readonly reason: WaitingReason;
      /** When, in ms. */
      readonly at: number;
    }
  | {
      readonly type: "set-running";
      /** When, in ms. */
      readonly at: number;
    }
  | {
      readonly type: "done";
      /** How the run ended. */
      readonly termination: Termination;
      /** When, in ms. */
      readonly at: number;
    };

function target(update: RunLifecycleUpdate, current: RunStatus): RunStatus {
  switch (update.type) {
    case "start":
    case "set-running":
      return "running";
    case "step-completed":
      // Counting a step ends no pause, and the closing step counts also when a policy has ended the run already.
      return current === "created" ? "running" : current;
    case "set-waiting":
      return "waiting";
    case "done":
      return "done";
  }
}

/** Hooks say it, too, and what they say is stored. */
function checked(termination: Termination): Termination {
  if (terminationSchema.fits(termination, 0)) return copyJson(termination);
  const result = validateSync(terminationSchema, termination);
  if (result.type === "valid") return copyJson(termination);
  throw new TypeError(`a run cannot end with this termination: ${result.message}`);
}

/** The run's state machine. A hook ends the run by updating it to `done`. */
export const runLifecycle = defineTrustedState("run_lifecycle", {
  schema: lateSchema((room) => room.runLifecycleSchema),
  initial: (): RunLifecycle => ({ runId: "" as RunId, status: "created", stepCount: 0, updatedAt: 0 }),
  refuse(value, update: RunLifecycleUpdate) {
    const to = target(update, value.status);
    if (!canRunMove(value.status, to)) return `a run that is ${value.status} cannot become ${to}`;
    if (update.type !== "done") return undefined;
    if (value.status === "done") return "the run is done already; the first reason stays";
    return update.termination.type === "suspended" ? "a suspended run waits; it is not done" : undefined;
  },
  apply(value, update: RunLifecycleUpdate): RunLifecycle {
    const { runId, stepCount } = value;
    const status = target(update, value.status);
    switch (update.type) {
      case "start":
        return { runId: update.runId, status, stepCount: 0, updatedAt: update.at };
      case "step-completed":
        return { ...value, status, stepCount: stepCount + 1, updatedAt: update.at };
      case "set-waiting":
        return { runId, status, waitingReason: update.reason, stepCount, updatedAt: update.at };
      case "set-running":
        return { runId, status, stepCount, updatedAt: update.at };
      case "done":
        return { runId, status, termination: checked(update.termination), stepCount, updatedAt: update.at };
    }
  },
});

/** What the run should do now, as its own state says: go on, or leave for this reason. */
export function terminationOf(value: RunLifecycle | undefined): Termination | undefined {
  if (value === undefined) return undefined;
  if (value.status === "done") return value.termination ?? { type: "error", message: "the run is done without a reason" };
  if (value.status === "waiting" && value.waitingReason !== "awaiting-tasks") return { type: "suspended" };
  return undefined;
}
