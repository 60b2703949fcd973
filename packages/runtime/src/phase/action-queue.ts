import { type FailedAction, failedActionsSchema, type QueuedAction, queuedActionsSchema } from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";

/** Older failures are dropped: the list travels with every commit of the run. */
const KEPT_FAILURES = 100;

/** The change itself: whoever makes one has loaded what knows how. */
type QueueUpdate = (value: readonly QueuedAction[]) => readonly QueuedAction[];

export const pendingActions = defineRuntimeState("pending_scheduled_actions", {
  schema: queuedActionsSchema,
  initial: (): readonly QueuedAction[] => [],
  apply: (value, change: QueueUpdate): readonly QueuedAction[] => change(value),
});

export const failedActions = defineRuntimeState("failed_scheduled_actions", {
  schema: failedActionsSchema,
  initial: (): readonly FailedAction[] => [],
  apply: (value, update: FailedAction): readonly FailedAction[] => [...value, update].slice(-KEPT_FAILURES),
});
