import { type AgentEvent, errorMessage, type InferenceRequest, type StopReason, type ToolCall, type Turn } from "@awaken/contract";
import type { Late } from "../stream/door.ts";
import type { AskedOn } from "./asked-on.ts";
import { type Collected, collect, type Ending } from "./collected.ts";
import { Collector } from "./collector.ts";
import type { CallFacts, InferenceRun, Inferred } from "./inference-run.ts";
import { seldom } from "./seldom-door.ts";
import type { CheckpointSlot } from "./stream-checkpoint.ts";
import type { StreamOutcome } from "./stream-outcome.ts";
import { StreamedTurn } from "./stream-turn.ts";

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

/** It came to its end, or was given up: there is nothing to ask on for. */
const isOver = (outcome: StreamOutcome): boolean =>
  outcome.type === "ended" ? outcome.reason !== "max-tokens" && outcome.reason !== "content-filter" : outcome.type !== "failed";

/** One that somebody else goes on from. */
class RecordedTurn extends StreamedTurn<StreamOutcome> {
  protected override read(outcome: StreamOutcome): StreamOutcome {
    return outcome;
  }
}

/** One answer in the making. While the model is silent no async frame waits for it: 0.35 KiB less. */
class Answer extends StreamedTurn<Inferred> {
  readonly #startedAt: number;
  /** Undefined before it was asked for more than its request. */
  #askedOn: AskedOn | undefined;

  constructor(run: InferenceRun) {
    super(run, withInferenceId(run), new Collector(run));
    this.#startedAt = run.clock.now();
  }

  begin(): Late<Inferred> {
    this.run.onBegin?.(this.collector);
    return this.#ask(this.request);
  }

  /** A checkpoint is of the first answer only. */
  #ask(first: InferenceRequest): Late<Inferred> {
    const { checkpoints } = this.run;
    return checkpoints === undefined || this.#askedOn?.isContinued === true ? this.askAnew(first) : this.#askKept(first, checkpoints);
  }

  /** The same, and it is kept while it streams. */
  async #askKept(first: InferenceRequest, checkpoints: () => Promise<CheckpointSlot>): Promise<Inferred> {
    const { run, request, collector } = this;
    let turn: Promise<StreamOutcome>;
    try {
      const { recordedTurn } = await seldom.open();
      turn = recordedTurn(this, (recorder) => new RecordedTurn(run, request, collector, recorder), await checkpoints(), first);
    } catch (thrown) {
      run.log.warn(`an answer is not kept while it streams: ${errorMessage(thrown)}`);
      return this.askAnew(first);
    }
    return this.read(await turn);
  }

  protected override read(outcome: StreamOutcome): Late<Inferred> {
    return isOver(outcome) ? this.#inferred(outcome, this.#collected(outcome)) : this.#askOn(outcome);
  }

  async #askOn(given: StreamOutcome): Promise<Inferred> {
    const { AskedOn, filtered } = await seldom.open();
    const outcome = filtered(given);
    const collected = this.#collected(outcome);
    this.#askedOn ??= new AskedOn();
    const next = await this.#askedOn.next(this, outcome, collected);
    return "type" in next ? this.#inferred(next, collected) : this.#ask(next);
  }

  #collected(outcome: StreamOutcome): Collected {
    return collect(this.collector.entries, ENDINGS[outcome.type]);
  }

  #inferred(outcome: StreamOutcome, { text, content, toolCalls, malformedCalls }: Collected): Inferred {
    const run = this.run;
    for (const call of toolCalls) run.emit(readyEvent(run, call));
    const durationMs = run.clock.now() - this.#startedAt;
    const { response, usage } = this.collector;
    const { model } = this.request;
    const servedBy = run.provider.observer?.servedBy?.(this.request);
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
    const turn: Turn =
      outcome.type === "failed"
        ? { ...body, stopReason: "error", failure: outcome.failure }
        : { ...body, stopReason: stopReasonOf(outcome) };
    const lostCall = outcome.type === "cut" ? outcome.lostCall : undefined;
    return { turn, plea: this.#askedOn?.plea, lostCall, isAborted: outcome.type === "aborted" };
  }
}

const RUNS_HERE: CallFacts = Object.freeze({ runsAt: "server", dynamic: false });

function readyEvent(run: InferenceRun, { id, name, input }: ToolCall): AgentEvent {
  return { type: "tool-call-ready", toolCallId: id, toolName: name, input, ...(run.describeCall?.(name) ?? RUNS_HERE) };
}

function stopReasonOf(outcome: Exclude<StreamOutcome, { type: "failed" }>): StopReason {
  if (outcome.type === "ended") return outcome.reason;
  return outcome.type === "cut" ? "tool-use" : "end-turn";
}
