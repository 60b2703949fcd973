import { errorMessage, type Log } from "@awaken/contract";
import { type Clock, systemClock } from "@awaken/runtime";
import type { TelemetryEvent } from "./events.ts";
import type { Sink } from "./sink.ts";

export interface BatchingOptions {
  /** Brings events to where they belong. What it rejects with is logged, and its events are gone. */
  send(events: readonly TelemetryEvent[]): Promise<void>;
  /** For logs. Default `batching`. */
  readonly name?: string;
  /** How many are sent together at most. Default 100. */
  readonly batchSize?: number;
  /** How long an event waits for others. Default 5 seconds. */
  readonly intervalMs?: number;
  /** How many may wait; when it is full, new ones are dropped and counted. Default 10,000. */
  readonly capacity?: number;
  /** Default: the machine's. */
  readonly clock?: Clock;
}

export interface BatchingSink extends Sink {
  /** How many events were not taken because too many waited. */
  readonly dropped: number;
}

class Batching implements BatchingSink {
  readonly name: string;
  dropped = 0;
  readonly #options: Required<Pick<BatchingOptions, "batchSize" | "intervalMs" | "capacity" | "clock">> & Pick<BatchingOptions, "send">;
  #waiting: TelemetryEvent[] = [];
  #stop: (() => void) | undefined;
  #sending: Promise<void> | undefined;
  #log: Log | undefined;

  constructor({ name = "batching", batchSize = 100, intervalMs = 5000, capacity = 10_000, clock = systemClock, send }: BatchingOptions) {
    this.name = name;
    this.#options = { batchSize, intervalMs, capacity, clock, send };
  }

  open({ log }: { readonly log: Log }): void {
    this.#log = log;
  }

  record(event: TelemetryEvent): void {
    const { capacity, batchSize, intervalMs, clock } = this.#options;
    if (this.#waiting.length >= capacity) {
      this.dropped += 1;
      return;
    }
    this.#waiting.push(event);
    if (this.#waiting.length >= batchSize) void this.flush();
    else this.#stop ??= clock.timer(intervalMs, () => void this.flush());
  }

  /** One batch after the other. Never rejects. */
  flush(): Promise<void> {
    this.#stop?.();
    this.#stop = undefined;
    this.#sending ??= this.#sendAll();
    return this.#sending;
  }

  shutdown(): Promise<void> {
    return this.flush();
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, this.#options.batchSize);
      try {
        await this.#options.send(batch);
      } catch (thrown) {
        this.#log?.error(`telemetry sink '${this.name}' lost ${batch.length} events: ${errorMessage(thrown)}`, { sink: this.name });
      }
      this.#waiting = this.#waiting.slice(batch.length);
    }
    // In the same turn in which nobody waits: what comes next is sent by a flush of its own.
    this.#sending = undefined;
  }
}

/** A sink that sends events in batches, for places that are far away. */
export const batching = (options: BatchingOptions): BatchingSink => new Batching(options);
