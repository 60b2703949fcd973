import type { AgentEvent, InferenceRequest, Log, Message, Provider, Turn } from "@awaken/contract";
import type { AbortSource } from "../stream/abort-source.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import type { SilenceWatch } from "../stream/silence-watch.ts";
import type { Collector } from "./collector.ts";
import type { InferencePolicy } from "./policy.ts";
import type { CheckpointSlot } from "./stream-checkpoint.ts";

/** What there is to say of a call before it runs. */
export type CallFacts = Pick<Extract<AgentEvent, { type: "tool-call-ready" }>, "runsAt" | "dynamic" | "kind" | "invalid">;

/** One logical inference: what to ask, whom, and how long to try. */
export interface InferenceRun {
  readonly provider: Provider;
  /** Gets an `inferenceId` in its routing unless it has one. */
  readonly request: InferenceRequest;
  readonly signal: AbortSignal;
  /** Where whoever reads its streams hears of that abort. Default: at the signal. */
  readonly source?: AbortSource | undefined;
  readonly clock: Clock;
  /** Who looks for silence of its streams. Default: one of their own. */
  readonly silence?: SilenceWatch | undefined;
  /** For messages that recovery inserts, and for the inference itself when its request names none. */
  readonly ids: Ids;
  readonly log: Log;
  /** Live events, called synchronously and in order. */
  emit(event: AgentEvent): void;
  /** Told once, where what is said is gathered. */
  readonly onBegin?: ((turn: Collector) => void) | undefined;
  readonly policy: InferencePolicy;
  /** What listeners are told of a call, by the name of its tool; without it the call is one that runs here. */
  readonly describeCall?: ((toolName: string) => CallFacts) | undefined;
  /** Applied to the messages again when the conversation grows within the inference: they must still fit the window. */
  readonly reshape?: ((messages: readonly Message[]) => readonly Message[]) | undefined;
  /** What to ask instead of a request that was too long for the model; undefined when it cannot be made smaller. */
  readonly shrink?: ((request: InferenceRequest) => Promise<InferenceRequest | undefined>) | undefined;
  /** Opens where the stream in progress is kept, bound to one run and step. */
  readonly checkpoints?: (() => Promise<CheckpointSlot>) | undefined;
}

export interface LostCall {
  readonly id: string;
  readonly name: string;
}

export interface Inferred {
  readonly turn: Turn;
  /** What the model was asked on the way when the token limit cut its answer: it goes into the conversation before the answer. */
  readonly plea: Message | undefined;
  /** A call that was cut off beside complete ones: after their results the model should hear that it may ask again. */
  readonly lostCall: LostCall | undefined;
  /** The signal ended it: the turn is as far as it came. */
  readonly isAborted: boolean;
}
