import { AwakenError, errorMessage, type InferenceRequest, type StreamPart } from "@awaken/contract";
import { type Late, whenThere } from "../stream/door.ts";
import type { CheckpointRecorder } from "./checkpoint-recorder.ts";
import type { Collector } from "./collector.ts";
import { idleWindowMs } from "./idle-window.ts";
import type { InferenceRun } from "./inference-run.ts";
import { openStream } from "./open-stream.ts";
import type { OpenedStream } from "./opened-stream.ts";
import { type FailedStream, readStream, type StreamEnd, type Taker } from "./read-stream.ts";
import { seldom } from "./seldom-door.ts";
import type { CheckpointSlot } from "./stream-checkpoint.ts";
import type { Aborted, Asked, Attempting, FailedAttempt, StreamOutcome } from "./stream-outcome.ts";

type AttemptEnd = { readonly type: "drained" } | Aborted | FailedAttempt;

class Work implements Taker, Attempting {
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

  /** Stream after stream, until one came to its end or there is no use in another. No async frame waits for a silent one: 0.3 KiB less. */
  attempt(request: InferenceRequest, retry = 0): Late<StreamOutcome> {
    return whenThere(openStream(this.run, request), (opened) => {
      if (opened.type !== "opened") return this.#after(opened, request, retry);
      const reading = readStream(this.run, opened, idleWindowMs(this.run.policy, request), this);
      return reading.then((end) => whenThere(release(this.run, request, opened, end), (closed) => this.#after(closed, request, retry)));
    });
  }

  #after(end: AttemptEnd, request: InferenceRequest, retry: number): Late<StreamOutcome> {
    if (end.type === "drained") return { type: "ended", reason: this.collector.stopReason ?? "end-turn" };
    return end.type === "aborted" ? end : this.#again(end, request, retry);
  }

  async #again(end: FailedAttempt, request: InferenceRequest, retry: number): Promise<StreamOutcome> {
    const { afterFailure } = await seldom.open();
    const next = await afterFailure(this, request, end, retry);
    return next.type === "ask" ? this.attempt(next.request, retry + 1) : next;
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
  if (slot === undefined) return Promise.resolve(new Work(run, asked, collector, undefined).attempt(first));
  return recordTurn(run, { asked, first }, collector, slot);
}

async function recordTurn(run: InferenceRun, { asked, first }: Asked, collector: Collector, slot: CheckpointSlot): Promise<StreamOutcome> {
  const begin = (recorder?: CheckpointRecorder) => new Work(run, asked, collector, recorder);
  let room: Awaited<ReturnType<typeof seldom.open>>;
  try {
    room = await seldom.open();
  } catch (thrown) {
    run.log.warn(`an answer is not kept while it streams: ${errorMessage(thrown)}`);
    return begin().attempt(first);
  }
  return room.recordedTurn(begin, run, slot, { asked, first });
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
