import type { AgentEvent, InferenceRequest, Message, StopReason, ToolCall, Turn } from "@awaken/contract";
import type { Late } from "../stream/door.ts";
import type { Collected, Ending } from "./collected.ts";
import { Collector } from "./collector.ts";
import type { CallFacts, InferenceRun, Inferred } from "./inference-run.ts";
import { seldom } from "./seldom-door.ts";
import type { StreamOutcome } from "./stream-outcome.ts";
import { recordTurn, StreamedTurn } from "./stream-turn.ts";

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
export function infer(run: InferenceRun): Promise<Inferred> {
  try {
    return Promise.resolve(new Answer(run).begin());
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** One answer in the making. While the model is silent no async frame waits for it: 0.35 KiB less. */
class Answer extends StreamedTurn<Inferred> {
  readonly #startedAt: number;
  #plea: Message | undefined;
  #isShrunk = false;
  #continuations = 0;
  /** How much it had said before it was asked last. */
  #saidBefore = 0;

  constructor(run: InferenceRun) {
    super(run, withInferenceId(run), new Collector(run));
    this.#startedAt = run.clock.now();
  }

  begin(): Late<Inferred> {
    this.run.onBegin?.(this.collector);
    return this.#ask(this.request);
  }

  #ask(first: InferenceRequest): Late<Inferred> {
    const { run, request: asked, collector } = this;
    this.#saidBefore = collector.text.length;
    // A checkpoint is of the first answer only.
    const slot = this.#continuations === 0 ? run.checkpoints : undefined;
    if (slot === undefined) return this.askAnew(first);
    return recordTurn(run, { asked, first }, collector, slot).then((outcome) => this.read(outcome));
  }

  protected override read(given: StreamOutcome): Late<Inferred> {
    const outcome = filtered(given);
    const collected = this.collector.collect(ENDINGS[outcome.type]);
    const isCut = this.#continuations < this.run.policy.maxContinuationRetries && isTruncated(outcome, collected, this.#saidBefore);
    return isCut || outcome.type === "failed" ? this.#askOn(outcome, collected, isCut) : this.#inferred(outcome, collected);
  }

  /** Asks for the rest, or for less at once, if there is a use in it. */
  async #askOn(outcome: StreamOutcome, collected: Collected, isCut: boolean): Promise<Inferred> {
    const run = this.run;
    const room = await seldom.open();
    const smaller = this.#isShrunk || !room.isOverflow(outcome, this.collector) ? undefined : await run.shrink?.(this.request);
    if (smaller === undefined && !isCut) return this.#inferred(outcome.type === "failed" ? room.told(outcome) : outcome, collected);
    if (smaller !== undefined) {
      this.#isShrunk = true;
      this.request = smaller;
    } else {
      this.#continuations += 1;
      for (const { id, name } of collected.malformedCalls) {
        if (name !== "") run.emit({ type: "tool-call-cancel", toolCallId: id, toolName: name, reason: "output token limit" });
      }
      this.#plea ??= room.truncationPlea(run.ids);
    }
    this.collector.dropCalls();
    return this.#ask(room.goOn(run, this.request, collected, this.#plea));
  }

  #inferred(outcome: StreamOutcome, collected: Collected): Inferred {
    const run = this.run;
    for (const call of collected.toolCalls) run.emit(readyEvent(run, call));
    const durationMs = run.clock.now() - this.#startedAt;
    const { response, usage } = this.collector;
    const { model } = this.request;
    const servedBy = run.provider.observer?.servedBy?.(this.request);
    const turn = toTurn(collected, outcome, { response, usage, servedBy, model, durationMs });
    const lostCall = outcome.type === "cut" ? outcome.lostCall : undefined;
    return { turn, plea: this.#plea, lostCall, isAborted: outcome.type === "aborted" };
  }
}

/** Whether the token limit cut off something that the model can be asked to go on with. `saidBefore` is how much it had said before. */
function isTruncated(outcome: StreamOutcome, { text, toolCalls, malformedCalls }: Collected, saidBefore: number): boolean {
  if (outcome.type !== "ended" || outcome.reason !== "max-tokens" || toolCalls.length > 0) return false;
  // Shorter than before: it was asked anew on the way.
  const fresh = text.length < saidBefore ? text : text.slice(saidBefore);
  return malformedCalls.length > 0 || fresh.trim() !== "";
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
    text,
    content,
    toolCalls,
    malformedCalls,
    usage,
    model,
    durationMs,
    ...(response === undefined ? undefined : { response }),
    ...(servedBy === undefined ? undefined : { servedBy }),
  };
  if (outcome.type !== "failed") return { ...body, stopReason: stopReasonOf(outcome) };
  return { ...body, stopReason: "error", failure: outcome.failure };
}
