import { AwakenError, type InferenceRequest, type StreamPart } from "@awaken/contract";
import { type Late, whenThere } from "../stream/door.ts";
import type { CheckpointRecorder } from "./checkpoint-recorder.ts";
import type { Collector } from "./collector.ts";
import { idleWindowMs } from "./idle-window.ts";
import type { InferenceRun } from "./inference-run.ts";
import { openStream } from "./open-stream.ts";
import type { OpenedStream } from "./opened-stream.ts";
import { type FailedStream, readStream, type StreamEnd, type Taker } from "./read-stream.ts";
import { seldom } from "./seldom-door.ts";
import type { Aborted, Attempting, FailedAttempt, StreamOutcome } from "./stream-outcome.ts";

type AttemptEnd = { readonly type: "drained" } | Aborted | FailedAttempt;

/**
 * Asks this of the run's provider until the stream came to its end, what it said is enough, or the budget is spent. Everything that was
 * said, over all streams, is in the collector; what a client saw since the last `stream-reset` is exactly that.
 */
export abstract class StreamedTurn<T> implements Taker<T>, Attempting<T> {
  readonly run: InferenceRun;
  readonly collector: Collector;
  readonly recorder: CheckpointRecorder | undefined;
  request: InferenceRequest;
  /** What the stream at hand was asked for, and which try it is. */
  #attempted: InferenceRequest;
  #retry = 0;

  constructor(run: InferenceRun, request: InferenceRequest, collector: Collector, recorder?: CheckpointRecorder) {
    this.run = run;
    this.request = request;
    this.collector = collector;
    this.recorder = recorder;
    this.#attempted = request;
  }

  /** How the turn came to its end. */
  protected abstract read(outcome: StreamOutcome): Late<T>;

  /** What is asked from here on is another turn: its tries are counted anew. */
  protected askAnew(first: InferenceRequest): Late<T> {
    this.#retry = 0;
    return this.attempt(first);
  }

  take(part: StreamPart): boolean {
    this.collector.add(part);
    this.recorder?.beat(this.collector);
    return this.collector.stopReason !== undefined;
  }

  /** Stream after stream, until one came to its end or there is no use in another. No async frame waits for a silent one: 0.3 KiB less. */
  attempt(request: InferenceRequest): Late<T> {
    this.#attempted = request;
    return whenThere(openStream(this.run, request), (opened) =>
      opened.type === "opened" ? readStream(this.run, opened, idleWindowMs(this.run.policy, request), this) : this.#after(opened),
    );
  }

  ended(stream: OpenedStream, end: StreamEnd): Late<T> {
    return whenThere(release(this.run, this.#attempted, stream, end), (closed) => this.#after(closed));
  }

  #after(end: AttemptEnd): Late<T> {
    if (end.type === "drained") return this.read({ type: "ended", reason: this.collector.stopReason ?? "end-turn" });
    return end.type === "aborted" ? this.read(end) : this.#again(end);
  }

  async #again(end: FailedAttempt): Promise<T> {
    const { afterFailure } = await seldom.open();
    const next = await afterFailure(this, this.#attempted, end, this.#retry);
    if (next.type !== "ask") return this.read(next);
    this.#retry += 1;
    return this.attempt(next.request);
  }
}

const ABORTED = { type: "aborted" } as const;
const DRAINED = { type: "drained" } as const;

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
