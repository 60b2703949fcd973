import type { FailedAction, QueuedAction } from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";
import { lateSchema } from "../state/late-schema.ts";

/** Older failures are dropped: the list travels with every commit of the run. */
const KEPT_FAILURES = 100;

/** The change itself: whoever makes one has loaded what knows how. */
type QueueUpdate = (value: readonly QueuedAction[]) => readonly QueuedAction[];

export const pendingActions = defineRuntimeState("pending_scheduled_actions", {
  schema: lateSchema((room) => room.queuedActionsSchema),
  initial: (): readonly QueuedAction[] => [],
  apply: (value, change: QueueUpdate): readonly QueuedAction[] => change(value),
});

export const failedActions = defineRuntimeState("failed_scheduled_actions", {
  schema: lateSchema((room) => room.failedActionsSchema),
  initial: (): readonly FailedAction[] => [],
  apply: (value, update: FailedAction): readonly FailedAction[] => [...value, update].slice(-KEPT_FAILURES),
});
