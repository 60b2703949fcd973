import type { ContextMessage } from "@awaken/contract";
import { type Command, command } from "../../phase/command.ts";
import type { HookScene } from "../../phase/hook.ts";
import type { ContextMessageDraft } from "../../prompt/actions.ts";
import { put } from "../../prompt/changes.ts";
import { contextMessages } from "../../prompt/context-messages.ts";
import { contextThrottle } from "../../prompt/context-throttle.ts";
import { contentHash, isDue } from "../../prompt/is-due.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";

const DEFAULTS = { cooldownSteps: 0, persistent: false, consumeAfterEmit: false, priority: 0 };

export function addMessage(draft: ContextMessageDraft, { state }: HookScene): Command | undefined {
  const message: ContextMessage = { ...DEFAULTS, ...draft };
  const { key, content, cooldownSteps } = message;
  const lastStep = (state.get(runLifecycle)?.stepCount ?? 0) + 1;
  if (!isDue(message, lastStep, state.get(contextThrottle)?.entries[key])) return undefined;
  const change = command().update(contextMessages, put(message));
  // Without a cooldown nothing has to be remembered.
  return cooldownSteps === 0 ? change : change.update(contextThrottle, { key, lastStep, contentHash: contentHash(content) });
}
