import {
  type AgentUsage,
  addAgentUsage,
  addUsage,
  type JsonValue,
  type MessageId,
  type ModelUsage,
  messageId,
  NO_USAGE,
  type RunRecord,
  type Usage,
} from "@awaken/contract";
import type { SequencedMessage } from "@awaken/contract/store";

/** What a run that goes on had counted before. */
export interface Counted {
  readonly steps: number;
  readonly usage: Usage;
  readonly usageByModel: readonly ModelUsage[];
  readonly usageBelow?: readonly AgentUsage[] | undefined;
  readonly answerId: MessageId;
}

/** Counts that continue when the same run is resumed. */
export class Tally implements Counted {
  /** Id of the first assistant message of the run. */
  readonly answerId: MessageId;
  steps: number;
  usage: Usage;
  usageByModel: readonly ModelUsage[];
  /** Undefined until the run starts another: what those used that have no records of their own. */
  usageBelow: readonly AgentUsage[] | undefined;
  /** Text of the newest assistant message of this run. */
  response = "";
  /** The validated answer, once there is one. */
  output: { readonly value: JsonValue } | undefined;
  /** A step whose end is committed and told together with what follows it. */
  untoldStep: number | undefined;

  constructor({ answerId, steps, usage, usageByModel, usageBelow }: Counted) {
    this.answerId = answerId;
    this.steps = steps;
    this.usage = usage;
    this.usageByModel = usageByModel;
    this.usageBelow = usageBelow;
  }

  /** The run has started others; these of them are on no record. */
  addBelow(used: readonly AgentUsage[]): void {
    this.usageBelow = addAgentUsage(this.usageBelow ?? [], used);
  }

  /** One inference more. */
  add(used: ModelUsage): void {
    if (used.usage === NO_USAGE) return;
    this.usage = addUsage(this.usage, used.usage);
    const at = this.usageByModel.findIndex(({ provider, model }) => provider === used.provider && model === used.model);
    const before = this.usageByModel[at];
    this.usageByModel =
      before === undefined
        ? [...this.usageByModel, used]
        : this.usageByModel.with(at, { ...before, usage: addUsage(before.usage, used.usage) });
  }
}

/** Runs from before these were on record: the first message of the run that is shown has the id. */
export function countedBy(run: RunRecord, messages: readonly SequencedMessage[]): Counted {
  const { runId, steps, usage, usageByModel = [], usageBelow, answerId } = run;
  const first = messages.find(({ message }) => message.role === "assistant" && message.metadata?.runId === runId);
  return { steps, usage, usageByModel, usageBelow, answerId: answerId ?? first?.message.id ?? messageId(`${runId}:answer`) };
}
