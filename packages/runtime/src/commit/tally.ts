import {
  type AgentUsage,
  addUsage,
  type JsonValue,
  type MessageId,
  type ModelUsage,
  NO_USAGE,
  type RunId,
  type Usage,
} from "@awaken/contract";

/** What a run that goes on had counted before. */
export interface Counted {
  readonly steps: number;
  readonly usage: Usage;
  readonly usageByModel: readonly ModelUsage[];
  readonly usageBelow?: readonly AgentUsage[] | undefined;
  readonly answerId: MessageId;
  /** It was begun by an earlier activation. */
  readonly isResumed?: boolean;
}

/** One frozen object for all messages of a step. */
export interface MessageStamp {
  readonly runId: RunId;
  readonly stepIndex: number;
}

const NOTHING_USED: readonly AgentUsage[] = Object.freeze([]);

/** Counts that continue when the same run is resumed. */
export class Tally implements Counted {
  /** Id of the first assistant message of the run. */
  readonly answerId: MessageId;
  steps: number;
  usage: Usage;
  usageByModel: readonly ModelUsage[];
  /** Undefined until the run starts another: what those used that have no records of their own. */
  usageBelow: readonly AgentUsage[] | undefined;
  /** What those used that have records of their own, as far as they were begun and ended here. */
  endedBelow = NOTHING_USED;
  /** Those of them that are not over, or were begun by an earlier activation: only records know what they used. */
  unknownBelow: number;
  /** Text of the newest assistant message of this run. */
  response = "";
  /** The validated answer, once there is one. */
  output: { readonly value: JsonValue } | undefined;
  /** A step whose end is committed and told together with what follows it. */
  untoldStep: number | undefined;
  /** What messages of the step say of where they are from. */
  stamp: MessageStamp | undefined;

  constructor({ answerId, steps, usage, usageByModel, usageBelow, isResumed = false }: Counted) {
    this.answerId = answerId;
    this.steps = steps;
    this.usage = usage;
    this.usageByModel = usageByModel;
    this.usageBelow = usageBelow;
    this.unknownBelow = isResumed ? 1 : 0;
  }

  /** What the runs used that this one has started and that have records of their own. Undefined: the records have to be read. */
  get recordedBelow(): readonly AgentUsage[] | undefined {
    return this.unknownBelow === 0 ? this.endedBelow : undefined;
  }

  /** The run has started another one: `used-below.ts` says how it ended; it may never be said. */
  begunBelow(): void {
    this.usageBelow ??= [];
    this.unknownBelow++;
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
