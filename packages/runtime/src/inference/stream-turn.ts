import { AwakenError, type InferenceFailure, type InferenceRequest, type StopReason, type StreamPart } from "@awaken/contract";
import { asksTooMuch, backoffMs } from "./backoff.ts";
import { CheckpointRecorder } from "./checkpoint-recorder.ts";
import { classify } from "./classify.ts";
import type { Collector } from "./collector.ts";
import { idleWindowMs } from "./idle-window.ts";
import type { InferenceRun, LostCall } from "./inference-run.ts";
import { isTransient, type OpenedStream, openStream, waitToRetry } from "./open-stream.ts";
import type { InferencePolicy } from "./policy.ts";
import { readStream, type StreamEnd, type Taker } from "./read-stream.ts";
import { type BreakCause, breakCause, breakText, continuation, recoveryPlan } from "./recovery-plan.ts";
import type { CheckpointSlot, StreamCheckpoint } from "./stream-checkpoint.ts";

/** How a logical inference ended. After `cut` only the calls that came whole count, after `aborted` and `failed` none do. */
export type StreamOutcome =
  | { readonly type: "ended"; readonly reason: StopReason }
  | { readonly type: "cut"; readonly lostCall: LostCall | undefined }
  | { readonly type: "aborted" }
  | { readonly type: "failed"; readonly failure: InferenceFailure };

type AttemptEnd =
  | { readonly type: "drained" }
  | { readonly type: "aborted" }
  | { readonly type: "refused"; readonly failure: InferenceFailure }
  | { readonly type: "broken"; readonly failure: InferenceFailure };

export interface Asked {
  /** What the answer is to, without anything that was said since. */
  readonly asked: InferenceRequest;
  /** The request to begin with. */
  readonly first: InferenceRequest;
}

/** One turn in the making: all its streams say what they say to it. */
class Work implements Taker {
  readonly run: InferenceRun;
  readonly request: InferenceRequest;
  readonly collector: Collector;
  readonly recorder: CheckpointRecorder | undefined;

  constructor(run: InferenceRun, request: InferenceRequest, collector: Collector, recorder: CheckpointRecorder | undefined) {
    this.run = run;
    this.request = request;
    this.collector = collector;
    this.recorder = recorder;
  }

  take(part: StreamPart): boolean {
    this.collector.add(part);
    this.recorder?.beat(this.collector);
    return this.collector.stopReason !== undefined;
  }
}

const ABORTED = { type: "aborted" } as const;
const DRAINED = { type: "drained" } as const;
const STALL: InferenceFailure = { type: "stream-interrupted", message: "idle stall" };
const STALL_DELAY_MS = 200;

/**
 * Asks this of the run's provider until the stream came to its end, what it said is enough, or the budget is spent. Everything that was
 * said, over all streams, is in the collector; what a client saw since the last `stream-reset` is exactly that.
 */
export function streamTurn(
  run: InferenceRun,
  { asked, first }: Asked,
  collector: Collector,
  slot: CheckpointSlot | undefined,
): Promise<StreamOutcome> {
  const { clock, log, signal } = run;
  if (slot === undefined) return runAttempts(new Work(run, asked, collector, undefined), first);
  const recorder = new CheckpointRecorder({ slot, model: asked.model, clock, log, signal });
  return recordTurn(new Work(run, asked, collector, recorder), recorder, first);
}

async function recordTurn(work: Work, recorder: CheckpointRecorder, first: InferenceRequest): Promise<StreamOutcome> {
  const saved = await recorder.load();
  const plan: Recovery = saved === undefined ? { type: "ask", request: first } : resume(work, saved);
  const outcome = plan.type === "cut" ? plan : await runAttempts(work, plan.request);
  if (outcome.type === "aborted" && work.run.keepsCheckpoint?.() === true) await recorder.keep(work.collector);
  else if (outcome.type !== "failed") await recorder.discard();
  return outcome;
}

async function runAttempts(work: Work, first: InferenceRequest): Promise<StreamOutcome> {
  const { run, collector, recorder } = work;
  let request = first;
  for (let retry = 0; ; retry++) {
    const opened = await openStream(run, request);
    const end =
      opened.type === "opened"
        ? release(run, request, opened, await readStream(run, opened, idleWindowMs(run.policy, request), work))
        : opened;
    if (end.type === "drained") return { type: "ended", reason: collector.stopReason ?? "end-turn" };
    if (end.type === "aborted") return end;
    await recorder?.flush(collector);
    if (!isTransient(end.failure) || (end.type === "refused" && retry === 0)) return { type: "failed", failure: end.failure };
    const cause = breakCause(end.failure);
    const hasMoved = end.type === "broken" && (run.provider.observer?.hasMoved?.(request) ?? false);
    const refusal = giveUp(run.policy, end.failure, retry, hasMoved);
    if (refusal !== undefined && recoveryPlan(collector, work.request) !== "synthesize") return { type: "failed", failure: refusal };
    const plan = recover(work, cause);
    if (plan.type === "cut") return plan;
    const delayMs = cause === "idle stall" ? STALL_DELAY_MS : backoffMs(run.policy, end.failure, retry);
    if (!hasMoved && !(await waitToRetry(run, end.failure.message, retry + 1, delayMs))) return ABORTED;
    request = plan.request;
  }
}

/** What the inference fails with when it is not tried again. Whoever is left behind is not waited for. */
function giveUp(policy: InferencePolicy, failure: InferenceFailure, retry: number, hasMoved: boolean): InferenceFailure | undefined {
  if (asksTooMuch(policy, failure) && !hasMoved) return failure;
  if (retry < policy.maxStreamRetries) return undefined;
  return { type: "stream-interrupted", message: breakText(failure) };
}

/** A stream was read, as far as it went: no connection is left behind. */
function release(run: InferenceRun, request: InferenceRequest, stream: OpenedStream, end: StreamEnd): AttemptEnd {
  try {
    return report(run, request, end);
  } finally {
    stream.release(end.type === "drained" && end.isClosed);
  }
}

/** Tells the provider how its stream ended: before the stream is closed, because a closed one counts as given up. */
function report({ provider }: InferenceRun, request: InferenceRequest, end: StreamEnd): AttemptEnd {
  if (end.type === "aborted") return ABORTED;
  if (end.type === "drained") {
    provider.observer?.drained(request);
    return DRAINED;
  }
  if (end.type === "broken" && AwakenError.is(end.thrown)) throw end.thrown;
  const failure = end.type === "stalled" ? STALL : classify(end.thrown);
  provider.observer?.failed(request, failure);
  return { type: "broken", failure };
}

type Recovery = { readonly type: "ask"; readonly request: InferenceRequest } | Extract<StreamOutcome, { readonly type: "cut" }>;

function recover({ run, request, collector }: Work, reason: BreakCause): Recovery {
  const plan = recoveryPlan(collector, request);
  if (plan === "restart") {
    collector.reset();
    run.emit({ type: "stream-reset", reason });
    return { type: "ask", request: { ...request } };
  }
  const lost = collector.inFlight;
  for (const { id, name } of lost) run.emit({ type: "tool-call-cancel", toolCallId: id, toolName: name, reason });
  if (plan === "synthesize") {
    const last = lost.at(-1);
    return { type: "cut", lostCall: last === undefined ? undefined : { id: last.id, name: last.name } };
  }
  collector.dropCalls();
  return { type: "ask", request: continuation(request, collector.text, run.ids) };
}

/** Says again what an earlier process received, so that every client has it, and goes on from there. */
function resume(work: Work, { text, toolCalls, inFlight }: StreamCheckpoint): Recovery {
  const { run, collector } = work;
  const reason = "resumed from checkpoint";
  run.emit({ type: "stream-reset", reason });
  if (text.trim() === "" && toolCalls.length === 0) return { type: "ask", request: work.request };
  collector.add({ type: "text-delta", delta: text });
  for (const { id, name, input } of toolCalls) addCall(collector, id, name, JSON.stringify(input));
  if (inFlight !== undefined) addCall(collector, inFlight.id, inFlight.name, inFlight.partialInput);
  return recover(work, reason);
}

function addCall(collector: Collector, id: string, name: string, delta: string): void {
  collector.add({ type: "tool-call-start", id, name });
  collector.add({ type: "tool-call-delta", id, delta });
}
