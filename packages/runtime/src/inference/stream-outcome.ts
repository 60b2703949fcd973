import type { AgentEvent, InferenceFailure, InferenceRequest, Provider, StopReason } from "@awaken/contract";
import type { Clock } from "../stream/clock.ts";
import type { Late } from "../stream/door.ts";
import type { CheckpointRecorder } from "./checkpoint-recorder.ts";
import type { Collector } from "./collector.ts";
import type { InferenceRun, LostCall } from "./inference-run.ts";
import type { OpenedStream } from "./opened-stream.ts";
import type { InferencePolicy } from "./policy.ts";

/** Whom to ask, and how long to try. */
export interface OpenInit {
  readonly provider: Provider;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly policy: InferencePolicy;
  emit(event: AgentEvent): void;
}

export interface Aborted {
  readonly type: "aborted";
}

/** What came of asking once. */
export type Tried = OpenedStream | Aborted | { readonly type: "thrown"; readonly thrown: unknown };

/** What came of asking as often as the policy says. */
export type Opened = OpenedStream | Aborted | { readonly type: "refused"; readonly failure: InferenceFailure };

/** A request that got no answer, or not all of it. */
export interface FailedAttempt {
  readonly type: "refused" | "broken";
  readonly failure: InferenceFailure;
}

/** One turn in the making: all its streams say what they say to its collector. */
export interface Turning {
  readonly run: InferenceRun;
  /** What the answer is to, without anything that was said since. */
  request: InferenceRequest;
  readonly collector: Collector;
  readonly recorder: CheckpointRecorder | undefined;
}

/** The same, and how it is asked for. */
export interface Attempting<T> extends Turning {
  attempt(request: InferenceRequest): Late<T>;
}

/** How a logical inference ended. After `cut` only the calls that came whole count, after `aborted` and `failed` none do. */
export type StreamOutcome =
  | { readonly type: "ended"; readonly reason: StopReason }
  | { readonly type: "cut"; readonly lostCall: LostCall | undefined }
  | Aborted
  | { readonly type: "failed"; readonly failure: InferenceFailure };

/** How a turn goes on whose stream broke. */
export type Recovery = { readonly type: "ask"; readonly request: InferenceRequest } | Extract<StreamOutcome, { readonly type: "cut" }>;
