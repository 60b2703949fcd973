import { type Command, command } from "../../phase/command.ts";
import type { HookScene } from "../../phase/hook.ts";
import { addContextMessage } from "../../prompt/actions.ts";
import { contextMessages } from "../../prompt/context-messages.ts";

const utcDate = (ms: number): string => new Date(ms).toISOString().slice(0, "YYYY-MM-DD".length);

/** `key`: of the message that says it. */
export function tellCutoff(key: string, cutoff: string, { state, clock }: Pick<HookScene, "state" | "clock">): Command | undefined {
  const content = `Today's date is ${utcDate(clock.now())} (UTC). Your knowledge ends at ${cutoff}; what happened later you do not know.`;
  // It stays from step to step, so there is work only at first, and when midnight passes.
  if (state.get(contextMessages)?.messages[key]?.content === content) return undefined;
  const message = { key, role: "system", target: "system", content, priority: -100, persistent: true } as const;
  return command().schedule(addContextMessage, message);
}
