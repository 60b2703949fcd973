import { AwakenError, errorMessage, type Log } from "@awaken/contract";
import { type Clock, systemClock } from "@awaken/runtime";
import { isFailure, type RunEvent, type TelemetryEvent } from "./events.ts";
import { isSampled } from "./sampling.ts";
import type { Sink } from "./sink.ts";
import { type StoredTrace, TraceFiles, type TraceFilter, type TraceMark, type TraceSummary } from "./trace-files.ts";

export interface TraceStoreOptions {
  /** The folder; it is made when it is not there. */
  readonly root: string;
  /** Which part of the runs is kept, 0 to 1; those with an error or a bad verdict always are. Default 1. */
  readonly sample?: number;
  /** How long traces are kept that are not marked. Default 7 days. */
  readonly ttlMs?: number;
  /** Default: the machine's. */
  readonly clock?: Clock;
}

export interface TraceStore extends Sink {
  /** The events of a run, oldest first; undefined when none are kept. */
  load(runId: string): Promise<StoredTrace | undefined>;
  /** What is kept, the newest first. */
  list(filter?: TraceFilter): Promise<readonly TraceSummary[]>;
  /** A marked trace is never swept. */
  mark(runId: string, mark: TraceMark): Promise<void>;
  /** Removes what is older than the limit and not marked; gives how many. Called daily by itself. */
  sweep(): Promise<number>;
}

const DAY_MS = 86_400_000;
const MAX_EVENTS = 10_000;
const GOOD_SCORE = 0.5;

/** A run in progress. Undefined events: there were too many, and the run is not kept. */
interface Buffered {
  events: TelemetryEvent[] | undefined;
  isFailed: boolean;
  lowestScore: number;
}

class FileTraceStore implements TraceStore {
  readonly name = "traceStore";
  readonly #files: TraceFiles;
  readonly #sample: number;
  readonly #ttlMs: number;
  readonly #clock: Clock;
  readonly #runs = new Map<string, Buffered>();
  #writing: Promise<void> = Promise.resolve();
  #failure: { readonly thrown: unknown } | undefined;
  #stop: (() => void) | undefined;
  #log: Log | undefined;

  constructor({ root, sample = 1, ttlMs = 7 * DAY_MS, clock = systemClock }: TraceStoreOptions) {
    if (!(sample >= 0 && sample <= 1)) throw new AwakenError("invalid_plugin", `traceStore: 'sample' must be 0 to 1, got ${sample}`);
    this.#files = new TraceFiles(root);
    this.#sample = sample;
    this.#ttlMs = ttlMs;
    this.#clock = clock;
  }

  open({ log }: { readonly log: Log }): void {
    this.#log = log;
    this.#sweepDaily();
  }

  record(event: TelemetryEvent): void {
    const { runId } = event.context;
    const run = this.#runs.get(runId) ?? { events: [], isFailed: false, lowestScore: 1 };
    this.#runs.set(runId, run);
    run.isFailed ||= isFailure(event);
    if (event.type === "evaluation-result") run.lowestScore = Math.min(run.lowestScore, event.scoreValue ?? 1);
    run.events?.push(event);
    if (run.events !== undefined && run.events.length > MAX_EVENTS) run.events = undefined;
    // A run that waits, or was handed over, is one part of its trace.
    if (event.type === "run") this.#close(runId, run, event);
    // A verdict on a run that is over is appended to it.
    else if (event.type === "evaluation-result" && run.events?.length === 1) this.#close(runId, run, undefined);
  }

  async flush(): Promise<void> {
    await this.#writing;
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure.thrown;
  }

  async shutdown(): Promise<void> {
    this.#stop?.();
    await this.flush();
  }

  load(runId: string): Promise<StoredTrace | undefined> {
    return this.#files.load(runId);
  }

  list(filter: TraceFilter = {}): Promise<readonly TraceSummary[]> {
    return this.#files.list(filter);
  }

  mark(runId: string, mark: TraceMark): Promise<void> {
    return this.#files.mark(runId, mark);
  }

  sweep(): Promise<number> {
    return this.#files.sweep(this.#clock.now() - this.#ttlMs);
  }

  #close(runId: string, run: Buffered, end: RunEvent | undefined): void {
    this.#runs.delete(runId);
    const { events, isFailed, lowestScore } = run;
    if (events === undefined) return;
    const isKept = isFailed || lowestScore < GOOD_SCORE || isSampled(runId, this.#sample);
    if (!isKept) return;
    this.#writing = this.#writing
      .then(() => this.#files.append(runId, events, end?.startedAt ?? this.#clock.now()))
      .catch((thrown: unknown) => this.#failed(thrown));
  }

  /** Said at once, for a program that is never closed, and again to whoever flushes. */
  #failed(thrown: unknown): void {
    this.#failure ??= { thrown };
    this.#log?.error(`telemetry sink '${this.name}' lost a trace: ${errorMessage(thrown)}`, { sink: this.name });
  }

  #sweepDaily(): void {
    this.#stop?.();
    const sweepLater = (this.#clock.idleTimer ?? this.#clock.timer).bind(this.#clock);
    this.#stop = sweepLater(DAY_MS, () => {
      this.#writing = this.#writing
        .then(() => this.sweep())
        .then(
          () => {},
          (thrown: unknown) => this.#failed(thrown),
        );
      this.#sweepDaily();
    });
  }
}

/** Keeps the telemetry of runs in files: a folder for each month, a line of JSON for each event. */
export const traceStore = (options: TraceStoreOptions): TraceStore => new FileTraceStore(options);
