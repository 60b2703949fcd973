import type { ContextMessage } from "@awaken/contract";
import type { Shown } from "./context-throttle.ts";

const FNV_PRIME = 0x01000193;

function fnv(text: string, seed: number): string {
  let hash = seed;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** Only tells a changed text from an unchanged one; no secret depends on it. */
export const contentHash = (text: string): string => `${text.length.toString(16)}-${fnv(text, 0x811c9dc5)}${fnv(text, 0x2b3f9a71)}`;

/** Whether the message may be shown in this step, given when it was shown last. */
export function isDue(message: ContextMessage, step: number, shown: Shown | undefined): boolean {
  if (message.cooldownSteps === 0 || shown === undefined) return true;
  return step - shown.lastStep >= message.cooldownSteps || shown.contentHash !== contentHash(message.content);
}
