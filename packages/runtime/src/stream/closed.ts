import { AwakenError } from "@awaken/contract";

/** Throws when the runtime is closed, which its signal says. */
export function checkOpen(closing: AbortSignal): void {
  if (closing.aborted) throw new AwakenError("cancelled", "the runtime is closed");
}
