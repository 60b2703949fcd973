import type { AgentEvent, InferenceRequest, Message, StopReason, ToolCall, Turn } from "@awaken/contract";
import type { Collected, Ending } from "./collected.ts";
import { Collector } from "./collector.ts";
import type { CallFacts, InferenceRun, Inferred } from "./inference-run.ts";
import { seldom } from "./seldom-door.ts";
import type { StreamOutcome } from "./stream-outcome.ts";
import { streamTurn } from "./stream-turn.ts";

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
    const smaller = isShrunk || !isOverflow(outcome, collector) ? undefined : await run.shrink?.(asked);
    const isCut = continuations < run.policy.maxContinuationRetries && isTruncated(outcome, collected, saidBefore);
    if (smaller === undefined && !isCut) {
      for (const call of collected.toolCalls) run.emit(readyEvent(run, call));
      const durationMs = run.clock.now() - startedAt;
      const { response, usage } = collector;
      const servedBy = run.provider.observer?.servedBy?.(asked);
      const said = outcome.type === "failed" ? await told(outcome) : outcome;
      const turn = toTurn(collected, said, { response, usage, servedBy, model: asked.model, durationMs });
      return { turn, plea, lostCall: outcome.type === "cut" ? outcome.lostCall : undefined, isAborted: outcome.type === "aborted" };
    }
    const room = await seldom.open();
    if (smaller !== undefined) {
      isShrunk = true;
      asked = smaller;
    } else {
      continuations += 1;
      for (const { id, name } of collected.malformedCalls) {
        if (name !== "") run.emit({ type: "tool-call-cancel", toolCallId: id, toolName: name, reason: "output token limit" });
      }
      plea ??= room.truncationPlea(run.ids);
    }
    collector.dropCalls();
    request = room.goOn(run, asked, collected, plea);
  }
}

/** Whether the token limit cut off something that the model can be asked to go on with. `saidBefore` is how much it had said before. */
function isTruncated(outcome: StreamOutcome, { text, toolCalls, malformedCalls }: Collected, saidBefore: number): boolean {
  if (outcome.type !== "ended" || outcome.reason !== "max-tokens" || toolCalls.length > 0) return false;
  // Shorter than before: it was asked anew on the way.
  const fresh = text.length < saidBefore ? text : text.slice(saidBefore);
  return malformedCalls.length > 0 || fresh.trim() !== "";
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

/** A failure in words that stay the same and hold no key. */
async function told({ type, failure }: Extract<StreamOutcome, { type: "failed" }>): Promise<StreamOutcome> {
  const { failureText } = await seldom.open();
  return { type, failure: { ...failure, message: failureText(failure) } };
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
  return { ...body, stopReason: "error", failure: outcome.failure };
}
