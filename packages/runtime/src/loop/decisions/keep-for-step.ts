import type { RunContext } from "../run-context.ts";
import type { AddressedDecision } from "./addressed-decision.ts";

/** False when the run is leaving: its record knows more then. */
export function keepForStep({ desk }: RunContext, batch: readonly AddressedDecision[]): boolean {
  if (desk.isClosed) return false;
  desk.early = [...desk.early, batch];
  return true;
}
