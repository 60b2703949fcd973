import { type AgentEvent, freezeJson, type MessageId } from "@awaken/contract";
import type { Collector } from "../inference/collector.ts";

export type StepStart = Extract<AgentEvent, { type: "step-start" }>;
/** Facts of a step that come while its answer streams. */
export type StreamFact = Extract<AgentEvent, { type: "stream-reset" | "tool-call-cancel" }>;

/** What a call tells of itself while it runs. */
export type CallReport = Extract<AgentEvent, { type: "activity-snapshot" }>;

/**
 * Where the current step stands, for whoever comes in the middle of it (`step-so-far.ts`). It is read from what the step has anyway; what is kept for that is how far calls
 * said that they are, where they say so.
 */
export class StepProgress {
  /** The number of the step; 0 before the first of this activation. */
  step = 0;
  messageId: MessageId | undefined;
  agentId = "";
  facts: StreamFact[] | undefined;
  turn: Collector | undefined;
  /** The last of each kind of each call. */
  #reports: Map<string, CallReport> | undefined;

  begin({ step, messageId, agentId }: StepStart): void {
    this.step = step;
    this.messageId = messageId;
    this.agentId = agentId;
    this.facts = undefined;
    this.turn = undefined;
    this.#reports = undefined;
  }

  note(fact: StreamFact): void {
    this.facts ??= [];
    this.facts.push(fact);
  }

  report(event: CallReport): void {
    this.#reports ??= new Map();
    // Listeners get the very same.
    freezeJson(event);
    this.#reports.set(`${event.messageId} ${event.activityType}`, event);
  }

  get reports(): readonly CallReport[] {
    return [...(this.#reports?.values() ?? [])];
  }
}
