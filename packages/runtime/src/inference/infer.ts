import { addUsage, type InferenceRequest, type Message, NO_USAGE, type StopReason, type Turn, type Usage } from "@awaken/contract";
import type { Collected, Ending } from "./collected.ts";
import { Collector } from "./collector.ts";
import { failureText } from "./failure-text.ts";
import type { InferenceRun, Inferred } from "./inference-run.ts";
import { type StreamOutcome, streamTurn } from "./stream-turn.ts";
import { isTruncated, truncationMessages } from "./truncation.ts";

export type { InferenceRun, Inferred, LostCall } from "./inference-run.ts";
export { DEFAULT_INFERENCE_POLICY, type InferencePolicy } from "./policy.ts";
export type { CheckpointSlot, StreamCheckpoint } from "./stream-checkpoint.ts";

const ENDINGS: Readonly<Record<StreamOutcome["type"], Ending>> = { ended: "ended", cut: "cut", aborted: "dropped", failed: "dropped" };

let inferences = 0;

/** Tells one inference of this process from the others, for a request's routing. */
export function newInferenceId(): string {
  inferences += 1;
  return `stream-${inferences}`;
}

function withInferenceId(request: InferenceRequest): InferenceRequest {
  if (request.routing?.inferenceId?.trim()) return request;
  return { ...request, routing: { ...request.routing, inferenceId: newInferenceId() } };
}

/**
 * One answer of the model, with retries and recovery. Expected failure is a turn that says so; what a provider throws as
 * `AwakenError` is a bug and thrown on. After an abort the turn holds the text so far: the caller looks at the signal itself.
 */
export const infer = (run: InferenceRun): Promise<Inferred> => new Inference(run).ask();

class Inference {
  readonly #run: InferenceRun;
  readonly #startedAt: number;
  readonly #inserted: Message[] = [];
  #request: InferenceRequest;
  #collector: Collector;
  #usage = NO_USAGE;
  #retry = 0;

  constructor(run: InferenceRun) {
    this.#run = run;
    this.#startedAt = run.clock.now();
    this.#request = withInferenceId(run.request);
    this.#collector = new Collector(run);
  }

  ask(): Promise<Inferred> {
    // A checkpoint is of the first answer only.
    const slot = this.#retry === 0 ? this.#run.checkpoints : undefined;
    return streamTurn(this.#run, this.#request, this.#collector, slot).then((outcome) => this.#settle(filtered(outcome)));
  }

  #settle(outcome: StreamOutcome): Inferred | Promise<Inferred> {
    const { policy } = this.#run;
    const { usage } = this.#collector;
    const collected = this.#collector.collect(ENDINGS[outcome.type]);
    this.#usage = this.#usage === NO_USAGE ? usage : addUsage(this.#usage, usage);
    if (this.#retry < policy.maxContinuationRetries && isTruncated(outcome, collected)) return this.#askAgain(collected);
    return this.#conclude(outcome, collected);
  }

  #conclude(outcome: StreamOutcome, collected: Collected): Inferred {
    const { request, clock, emit } = this.#run;
    for (const { id, name, input } of collected.toolCalls) emit({ type: "tool-call-ready", toolCallId: id, toolName: name, input });
    const turn = toTurn(collected, outcome, this.#usage, request.model, clock.now() - this.#startedAt);
    return { turn, inserted: this.#inserted, lostCall: outcome.type === "cut" ? outcome.lostCall : undefined };
  }

  /** The same question in the longer conversation. */
  #askAgain(collected: Collected): Promise<Inferred> {
    const { emit, ids, reshape } = this.#run;
    for (const { id, name } of collected.malformedCalls) {
      if (name !== "") emit({ type: "tool-call-cancel", toolCallId: id, toolName: name, reason: "output token limit" });
    }
    const messages = truncationMessages(collected, ids);
    const longer = [...this.#request.messages, ...messages];
    this.#inserted.push(...messages);
    this.#request = { ...this.#request, messages: reshape?.(longer) ?? longer };
    this.#collector = new Collector(this.#run);
    this.#retry += 1;
    return this.ask();
  }
}

/** An answer that the vendor's filter cut is a failure, not an end. */
function filtered(outcome: StreamOutcome): StreamOutcome {
  if (outcome.type !== "ended" || outcome.reason !== "content-filter") return outcome;
  return { type: "failed", failure: { type: "content-filtered", message: "the provider's content filter stopped the answer" } };
}

function stopReasonOf(outcome: Exclude<StreamOutcome, { type: "failed" }>): StopReason {
  if (outcome.type === "ended") return outcome.reason;
  return outcome.type === "cut" ? "tool-use" : "end-turn";
}

function toTurn(collected: Collected, outcome: StreamOutcome, usage: Usage, model: string, durationMs: number): Turn {
  const { text, content, toolCalls, malformedCalls } = collected;
  const body = { text, content, toolCalls, malformedCalls, usage, model, durationMs };
  if (outcome.type !== "failed") return { ...body, stopReason: stopReasonOf(outcome) };
  return { ...body, stopReason: "error", failure: { ...outcome.failure, message: failureText(outcome.failure) } };
}
