import type { AgentEvent, InferenceRequest, Message, StopReason, ToolCall, Turn } from "@awaken/contract";
import type { Collected, Ending } from "./collected.ts";
import { Collector } from "./collector.ts";
import { failureText } from "./failure-text.ts";
import type { CallFacts, InferenceRun, Inferred } from "./inference-run.ts";
import { continuation } from "./recovery-plan.ts";
import { type StreamOutcome, streamTurn } from "./stream-turn.ts";
import { continueTruncated, isTruncated, truncationPlea } from "./truncation.ts";

export type { CallFacts, InferenceRun, Inferred, LostCall } from "./inference-run.ts";
export { DEFAULT_INFERENCE_POLICY, type InferencePolicy } from "./policy.ts";
export type { CheckpointSlot, StreamCheckpoint } from "./stream-checkpoint.ts";

const ENDINGS: Readonly<Record<StreamOutcome["type"], Ending>> = { ended: "ended", cut: "cut", aborted: "dropped", failed: "dropped" };

/** Tells one inference from the others, for a request's routing. */
function withInferenceId({ request, ids }: InferenceRun): InferenceRequest {
  if (request.routing?.inferenceId?.trim()) return request;
  return { ...request, routing: { ...request.routing, inferenceId: ids() } };
}

/**
 * One answer of the model, with retries and recovery: what several streams said is one turn. Expected failure is a turn that says so; what
 * a provider throws as `AwakenError` is a bug and thrown on. After an abort the turn holds the text so far: the caller looks at the signal
 * itself.
 */
export async function infer(run: InferenceRun): Promise<Inferred> {
  const startedAt = run.clock.now();
  const collector = new Collector(run);
  run.onBegin?.(collector);
  let asked = withInferenceId(run);
  let request = asked;
  let plea: Message | undefined;
  let isShrunk = false;
  for (let continuations = 0; ; ) {
    const saidBefore = collector.text.length;
    // A checkpoint is of the first answer only.
    const slot = continuations === 0 ? run.checkpoints : undefined;
    const outcome = filtered(await streamTurn(run, { asked, first: request }, collector, slot));
    const collected = collector.collect(ENDINGS[outcome.type]);
    const smaller = isShrunk || !isOverflow(outcome, collector) ? undefined : run.shrink?.(asked);
    const isCut = continuations < run.policy.maxContinuationRetries && isTruncated(outcome, collected, saidBefore);
    if (smaller === undefined && !isCut) {
      for (const call of collected.toolCalls) run.emit(readyEvent(run, call));
      const durationMs = run.clock.now() - startedAt;
      const { response, usage } = collector;
      const servedBy = run.provider.observer?.servedBy?.(asked);
      const turn = toTurn(collected, outcome, { response, usage, servedBy, model: asked.model, durationMs });
      return { turn, plea, lostCall: outcome.type === "cut" ? outcome.lostCall : undefined, isAborted: outcome.type === "aborted" };
    }
    if (smaller !== undefined) {
      isShrunk = true;
      asked = smaller;
    } else {
      continuations += 1;
      for (const { id, name } of collected.malformedCalls) {
        if (name !== "") run.emit({ type: "tool-call-cancel", toolCallId: id, toolName: name, reason: "output token limit" });
      }
      plea ??= truncationPlea(run.ids);
    }
    collector.dropCalls();
    request = goOn(run, asked, collected, plea);
  }
}

/** The next request: after what was said so far, if anything was. */
function goOn(run: InferenceRun, asked: InferenceRequest, collected: Collected, plea: Message | undefined): InferenceRequest {
  if (plea !== undefined) return continueTruncated(run, asked, collected, plea);
  return collected.text.trim() === "" ? asked : continuation(asked, collected.text, run.ids);
}

/** Refused as too long, and no client has heard of a call. */
function isOverflow(outcome: StreamOutcome, collector: Collector): boolean {
  if (outcome.type !== "failed" || outcome.failure.type !== "context-overflow") return false;
  return collector.inFlight.length + collector.completeCalls.length === 0;
}

const RUNS_HERE: CallFacts = Object.freeze({ runsAt: "server", dynamic: false });

function readyEvent(run: InferenceRun, { id, name, input }: ToolCall): AgentEvent {
  return { type: "tool-call-ready", toolCallId: id, toolName: name, input, ...(run.describeCall?.(name) ?? RUNS_HERE) };
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

/** What is known of an answer beside what was said. */
interface AnswerFacts extends Pick<Turn, "usage" | "model" | "durationMs"> {
  readonly response: Turn["response"] | undefined;
  readonly servedBy: string | undefined;
}

function toTurn(collected: Collected, outcome: StreamOutcome, facts: AnswerFacts): Turn {
  const { text, content, toolCalls, malformedCalls } = collected;
  const { usage, model, durationMs, response, servedBy } = facts;
  const body: Omit<Turn, "stopReason"> = {
    ...{ text, content, toolCalls, malformedCalls, usage, model, durationMs },
    ...(response === undefined ? undefined : { response }),
    ...(servedBy === undefined ? undefined : { servedBy }),
  };
  if (outcome.type !== "failed") return { ...body, stopReason: stopReasonOf(outcome) };
  return { ...body, stopReason: "error", failure: { ...outcome.failure, message: failureText(outcome.failure) } };
}
