import { messageId, type RunRecord } from "@awaken/contract";
import type { SequencedMessage } from "@awaken/contract/store";
import type { Counted } from "./tally.ts";

/** Runs from before these were on record: the first message of the run that is shown has the id. */
export function countedBy(run: RunRecord, messages: readonly SequencedMessage[]): Counted {
  const { runId, steps, usage, usageByModel = [], usageBelow, answerId } = run;
  const first = messages.find(({ message }) => message.role === "assistant" && message.metadata?.runId === runId);
  const firstId = answerId ?? first?.message.id ?? messageId(`${runId}:answer`);
  return { steps, usage, usageByModel, usageBelow, answerId: firstId, isResumed: run.status !== "created" };
}
