import { type AgentUsage, addAgentUsage } from "@awaken/contract";
import type { Tally } from "./tally.ts";

/** What a run that this one has started used, with all below it. */
export interface UsedBelow {
  /** Of those that are on no record. */
  readonly unrecorded: readonly AgentUsage[];
  /** Of those that are; undefined: it is not known here. */
  readonly recorded: readonly AgentUsage[] | undefined;
}

/** A run that this one has started, and that was counted as begun, is over as far as this one is concerned. */
export function countBelow(tally: Tally, { unrecorded, recorded }: UsedBelow): void {
  tally.usageBelow = addAgentUsage(tally.usageBelow ?? [], unrecorded);
  if (recorded === undefined) return;
  tally.endedBelow = addAgentUsage(tally.endedBelow, recorded);
  tally.unknownBelow--;
}
