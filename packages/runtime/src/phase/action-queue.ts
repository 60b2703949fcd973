import { type FailedAction, failedActionsSchema, type QueuedAction, queuedActionsSchema } from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";

/** Older failures are dropped: the list travels with every commit of the run. */
const KEPT_FAILURES = 100;

type QueueUpdate =
  | { readonly type: "push"; readonly actions: readonly QueuedAction[] }
  | { readonly type: "remove"; readonly id: number }
  | { readonly type: "clear" };

export const pendingActions = defineRuntimeState("pending_scheduled_actions", {
  schema: queuedActionsSchema,
  initial: (): readonly QueuedAction[] => [],
  apply(value, update: QueueUpdate): readonly QueuedAction[] {
    switch (update.type) {
      case "push":
        return [...value, ...update.actions];
      case "remove":
        return value.filter((entry) => entry.id !== update.id);
      case "clear":
        return [];
    }
  },
});

export const failedActions = defineRuntimeState("failed_scheduled_actions", {
  schema: failedActionsSchema,
  initial: (): readonly FailedAction[] => [],
  apply: (value, update: FailedAction): readonly FailedAction[] => [...value, update].slice(-KEPT_FAILURES),
});
