import {
  type AgentUsage,
  addUsage,
  type Conclusion,
  conclude,
  copyJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  NO_USAGE,
  type RunId,
  type ThreadId,
  type Ticket,
  type Usage,
} from "@awaken/contract";
import type { LoopResult } from "../loop/finish.ts";

export const sumOf = (parts: readonly AgentUsage[]): Usage => parts.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE);

/** A ticket whose input can be edited by spreading it: one that is no object stands under `value`. */
export interface RunTicket extends Ticket {
  /** What the call would run with, as an object. */
  readonly input: JsonObject;
}

/** What there is to say of a run, however it stands. */
export interface RunFacts {
  /** The run, for `wait`, `cancel` and the records. */
  readonly runId: RunId;
  /** The thread, for the next request. */
  readonly threadId: ThreadId;
  /** The last answer of the model; empty when it said nothing. */
  readonly text: string;
  /** How many inferences it took, with their tool calls. */
  readonly steps: number;
  /** Tokens of the whole run, with those of the runs that it started, at any depth. */
  readonly usage: Usage;
  /** What they are the sum of, by agent and place: the run itself first. */
  readonly usageByAgent: readonly AgentUsage[];
}

type Only<S extends Conclusion["status"]> = Extract<Conclusion, { readonly status: S }>;

/** It did what it was asked to. */
export interface DoneResult<O> extends RunFacts, Only<"done"> {
  /** The answer as the schema of the request made it; undefined when the request had none. */
  readonly output: O;
}

/** It goes on when its tickets are decided, or, without any, when its work in the background is done. */
export interface WaitingResult extends RunFacts, Only<"waiting"> {
  /** One for each call that waits for a decision. */
  readonly tickets: readonly RunTicket[];
  /** Only a run that is done has one. */
  readonly output?: never;
}

/** A limit was hit: `limit` names it, `detail` says it in words. */
export interface StoppedResult extends RunFacts, Only<"stopped"> {
  /** Only a run that is done has one. */
  readonly output?: never;
}

export interface CancelledResult extends RunFacts, Only<"cancelled"> {
  /** Only a run that is done has one. */
  readonly output?: never;
}

/** A gate refused a call, and ended the run with it: `reason` says why. */
export interface BlockedResult extends RunFacts, Only<"blocked"> {
  /** Only a run that is done has one. */
  readonly output?: never;
}

/** `error` has the code and the message. */
export interface FailedResult extends RunFacts, Only<"failed"> {
  /** Only a run that is done has one. */
  readonly output?: never;
}

/** How a run ended or where it waits, told apart by `status`. */
export type RunResult<O = unknown> = DoneResult<O> | WaitingResult | StoppedResult | CancelledResult | BlockedResult | FailedResult;

const toRunTicket = (ticket: Ticket): RunTicket => ({
  ...ticket,
  input: isJsonObject(ticket.input) ? ticket.input : { value: ticket.input },
});

const ownUsage = ({ agentPath, runs, usage }: AgentUsage): AgentUsage => ({ agentPath: agentPath.slice(), runs, usage: { ...usage } });

/** The caller's own: the record shares nothing with it. `readOutput` is asked for the answer of a run that is done. */
export function toRunResult<O>(given: LoopResult, readOutput: (recorded: JsonValue | undefined) => O): RunResult<O> {
  const { runId, threadId, text, steps, status, waitingReason, output } = given;
  const usageByAgent = given.usageByAgent.map(ownUsage);
  const usage = usageByAgent.length === 1 ? { ...given.usage } : sumOf(usageByAgent);
  const isOutputMissing = given.isOutputAsked && output === undefined;
  const conclusion = conclude({ termination: { ...given.termination }, status, waitingReason, isOutputMissing });
  const facts: RunFacts = { runId, threadId, text, steps, usage, usageByAgent };
  switch (conclusion.status) {
    case "done":
      return { ...facts, status: conclusion.status, termination: conclusion.termination, output: readOutput(copyJson(output)) };
    case "waiting":
      return { ...facts, ...conclusion, tickets: copyJson(given.tickets).map(toRunTicket) };
    default:
      return { ...facts, ...conclusion };
  }
}
