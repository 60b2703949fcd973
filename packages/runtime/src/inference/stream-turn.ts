import { AwakenError, errorMessage, type InferenceRequest, type StreamPart } from "@awaken/contract";
import type { Late } from "../stream/door.ts";
import type { CheckpointRecorder } from "./checkpoint-recorder.ts";
import type { Collector } from "./collector.ts";
import { idleWindowMs } from "./idle-window.ts";
import type { InferenceRun } from "./inference-run.ts";
import { openStream } from "./open-stream.ts";
import type { OpenedStream } from "./opened-stream.ts";
import { type FailedStream, readStream, type StreamEnd, type Taker } from "./read-stream.ts";
import { seldom } from "./seldom-door.ts";
import type { CheckpointSlot } from "./stream-checkpoint.ts";
import type { Aborted, FailedAttempt, Recovery, StreamOutcome, Turning } from "./stream-outcome.ts";

type AttemptEnd = { readonly type: "drained" } | Aborted | FailedAttempt;

export interface Asked {
  /** What the answer is to, without anything that was said since. */
  readonly asked: InferenceRequest;
  /** The request to begin with. */
  readonly first: InferenceRequest;
}

class Work implements Taker, Turning {
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
  if (slot === undefined) return runAttempts(new Work(run, asked, collector, undefined), first);
  return recordTurn(run, { asked, first }, collector, slot);
}

async function recordTurn(run: InferenceRun, { asked, first }: Asked, collector: Collector, slot: CheckpointSlot): Promise<StreamOutcome> {
  const { clock, log, signal } = run;
  let room: Awaited<ReturnType<typeof seldom.open>>;
  try {
    room = await seldom.open();
  } catch (thrown) {
    log.warn(`an answer is not kept while it streams: ${errorMessage(thrown)}`);
    return runAttempts(new Work(run, asked, collector, undefined), first);
  }
  const recorder = new room.CheckpointRecorder({ slot, model: asked.model, clock, log, signal });
  const work = new Work(run, asked, collector, recorder);
  const saved = await recorder.load();
  const plan: Recovery = saved === undefined ? { type: "ask", request: first } : room.resumeFrom(work, saved);
  const outcome = plan.type === "cut" ? plan : await runAttempts(work, plan.request);
  if (outcome.type === "aborted" && run.keepsCheckpoint?.() === true) await recorder.keep(collector);
  else if (outcome.type !== "failed") await recorder.discard();
  return outcome;
}

async function runAttempts(work: Work, first: InferenceRequest): Promise<StreamOutcome> {
  const { run, collector } = work;
  let request = first;
  for (let retry = 0; ; retry++) {
    const opened = await openStream(run, request);
    const closed =
      opened.type === "opened"
        ? release(run, request, opened, await readStream(run, opened, idleWindowMs(run.policy, request), work))
        : opened;
    const end = closed instanceof Promise ? await closed : closed;
    if (end.type === "drained") return { type: "ended", reason: collector.stopReason ?? "end-turn" };
    if (end.type === "aborted") return end;
    const { afterFailure } = await seldom.open();
    const next = await afterFailure(work, request, end, retry);
    if (next.type !== "ask") return next;
    request = next.request;
  }
}

/**
 * A stream was read, as far as it went: no connection is left behind. The provider is told how it ended before it is closed, because a
 * closed one counts as given up.
 */
function release(run: InferenceRun, request: InferenceRequest, stream: OpenedStream, end: StreamEnd): Late<AttemptEnd> {
  if (end.type === "broken" || end.type === "stalled") return releaseFailed(run, request, stream, end);
  try {
    if (end.type === "aborted") return ABORTED;
    run.provider.observer?.drained(request);
    return DRAINED;
  } finally {
    stream.release(end.type === "drained" && end.isClosed);
  }
}

async function releaseFailed(
  { provider }: InferenceRun,
  request: InferenceRequest,
  stream: OpenedStream,
  end: FailedStream,
): Promise<AttemptEnd> {
  try {
    if (end.type === "broken" && AwakenError.is(end.thrown)) throw end.thrown;
    const { failureOf } = await seldom.open();
    const failure = failureOf(end);
    provider.observer?.failed(request, failure);
    return { type: "broken", failure };
  } finally {
    stream.release(false);
  }
}
