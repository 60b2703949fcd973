import type { DispatchFacts, OperationFacts, QueueWatcher, RunEndFacts } from "@awaken/runtime";
import type { Counter, Histogram, Registry } from "prom-client";

/** What is used of prom-client. */
export type Prom = Pick<typeof import("prom-client"), "Counter" | "Gauge" | "Histogram" | "Registry">;

const OPERATION_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10];
const DISPATCH_SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900];

/** Clocks of two machines may differ. */
const seconds = (from: number, to: number): number => Math.max(0, to - from) / 1000;

/** Names and labels of what runs and their queue do. Labels are of a few words each, never an id. */
export class QueueMeters implements QueueWatcher {
  readonly #runs: Counter;
  readonly #runSeconds: Histogram;
  readonly #errors: Counter;
  readonly #operations: Counter;
  readonly #operationSeconds: Histogram;
  readonly #signals: Readonly<Record<"pulled" | "ack" | "nack" | "redelivery", Counter>>;
  readonly #enqueueToStart: Histogram;
  readonly #eligibleToStart: Histogram;
  readonly #claimToStart: Histogram;
  readonly #enqueueToComplete: Histogram;
  readonly #runtime: Histogram;

  constructor(prom: Prom, register: Registry) {
    const registers = [register];
    const counter = (name: string, help: string, labelNames: readonly string[] = []) =>
      new prom.Counter({ name: `awaken_${name}`, help, labelNames: [...labelNames], registers });
    const histogram = (name: string, help: string, labelNames: readonly string[] = [], buckets = DISPATCH_SECONDS) =>
      new prom.Histogram({ name: `awaken_${name}`, help, labelNames: [...labelNames], buckets, registers });
    const dispatch = (name: string, help: string) => histogram(`mailbox_dispatch_${name}_seconds`, help);
    const signal = (name: string, help: string) => counter(`mailbox_dispatch_signal_${name}_total`, help);
    this.#runs = counter("runs_total", "Runs that ended here, and attempts that are made again", ["outcome"]);
    this.#runSeconds = histogram("run_duration_seconds", "From the beginning of a run to its end", ["outcome"]);
    this.#errors = counter("errors_total", "Runs that ended with an error, by its code", ["class"]);
    this.#operations = counter("mailbox_operations_total", "What the queue asked the store for", ["operation", "result"]);
    this.#operationSeconds = histogram("mailbox_operation_duration_seconds", "How long that took", ["operation"], OPERATION_SECONDS);
    this.#signals = {
      pulled: signal("pulled", "Dispatches that were taken out of the queue, and whose runs were begun"),
      ack: signal("ack", "Those that were settled"),
      nack: signal("nack", "Those that went back into the queue, or were lost"),
      redelivery: signal("redelivery", "Those that had been tried before"),
    };
    this.#enqueueToStart = dispatch("enqueue_to_start", "From the queue to the beginning of the run");
    this.#eligibleToStart = dispatch("eligible_to_start", "From the time at which it was due to the beginning of the run");
    this.#claimToStart = dispatch("claim_to_start", "From the claim to the beginning of the run");
    this.#enqueueToComplete = dispatch("enqueue_to_complete", "From the queue to the end of the work");
    this.#runtime = dispatch("runtime", "From the beginning of the run to the end of the work");
  }

  onRunEnd({ outcome, durationMs, error }: RunEndFacts): void {
    this.#runs.inc({ outcome });
    this.#runSeconds.observe({ outcome }, durationMs / 1000);
    if (error !== undefined) this.#errors.inc({ class: error });
  }

  onOperation({ operation: phrase, isOk, durationMs }: OperationFacts): void {
    const operation = phrase.replaceAll(" ", "_");
    this.#operations.inc({ operation, result: isOk ? "ok" : "error" });
    this.#operationSeconds.observe({ operation }, durationMs / 1000);
  }

  onDispatch({ queuedAt, dueAt, claimedAt, startedAt, endedAt, isRetry, isSettled }: DispatchFacts): void {
    this.#signals.pulled.inc();
    this.#signals[isSettled ? "ack" : "nack"].inc();
    if (isRetry) this.#signals.redelivery.inc();
    this.#enqueueToStart.observe(seconds(queuedAt, startedAt));
    this.#eligibleToStart.observe(seconds(dueAt, startedAt));
    this.#claimToStart.observe(seconds(claimedAt, startedAt));
    this.#enqueueToComplete.observe(seconds(queuedAt, endedAt));
    this.#runtime.observe(seconds(startedAt, endedAt));
  }
}
