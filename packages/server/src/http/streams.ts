import { AwakenError } from "@awaken/contract";
import type { Clock } from "@awaken/runtime";
import { afterThisTick, EventWriter, type StreamInit } from "./event-writer.ts";
import { BUFFER_BYTES, Outflow, type Sink } from "./outflow.ts";

const LOOK_MS = 5_000;

/** What there is to stream. */
export type Streaming = Omit<StreamInit, "onGone">;

/** What is on its way to a reader. */
export interface Delivery {
  /** The sink can take more. */
  drained(): void;
  /** The reader has all of it, or is gone. */
  left(): void;
}

/** All readers of one server, and the one timer that looks after them. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #open = new Set<EventWriter>();
  readonly #answers = new Set<Outflow>();
  readonly #encoder = new TextEncoder();
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#max = max;
  }

  get size(): number {
    return this.#open.size;
  }

  checkRoom(): void {
    if (this.#open.size >= this.#max) throw new AwakenError("server_busy", `there are ${this.#max} streams open already`);
  }

  /** Into whatever the host has to write to. Its `drained` and `left` have to be told. */
  write(init: Streaming, sink: Sink): EventWriter {
    const onGone = () => {
      this.#open.delete(writer);
      this.#rest();
    };
    const writer = new EventWriter({ ...init, onGone }, this.#clock, sink);
    this.#open.add(writer);
    this.#watch();
    // Who comes when the server is leaving has his run and comes back elsewhere, too.
    if (this.#isClosed) afterThisTick(() => writer.leaveUntold());
    else void writer.write();
    return writer;
  }

  /** An answer that is whole; without one, what the sink has already. Its `drained` and `left` have to be told. */
  deliver(sink: Sink, body?: Uint8Array): Delivery {
    const flow = new Outflow(sink, this.#clock);
    this.#answers.add(flow);
    this.#watch();
    if (body !== undefined) flow.write(body);
    flow.end();
    return {
      drained: () => flow.drained(),
      left: () => {
        this.#answers.delete(flow);
        this.#rest();
      },
    };
  }

  /** As the body of a response: what the host has not taken when its end is there is the host's affair. Who gave up the request has left, also in a host that does not cancel the body then. */
  open(init: Streaming, signal?: AbortSignal): ReadableStream<Uint8Array> {
    let writer: EventWriter | undefined;
    let isOver = false;
    let leave = () => {};
    const over = () => {
      isOver = true;
      signal?.removeEventListener("abort", leave);
    };
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          leave = () => {
            writer?.left();
            // A host that cancels the body does so in this moment, and needs no error.
            afterThisTick(() => {
              if (!isOver) controller.error(signal?.reason);
              over();
            });
          };
          signal?.addEventListener("abort", leave);
          writer = this.write(init, {
            write: (piece) => {
              controller.enqueue(typeof piece === "string" ? this.#encoder.encode(piece) : piece);
              return (controller.desiredSize ?? 0) > 0;
            },
            end: () => {
              over();
              controller.close();
              writer?.left();
            },
            cut: (why) => {
              over();
              controller.error(why);
            },
          });
          if (signal?.aborted === true) leave();
        },
        pull: () => writer?.drained(),
        cancel: () => {
          over();
          writer?.left();
        },
      },
      { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk.byteLength },
    );
  }

  /** Readers come back elsewhere with their cursors. */
  close(): void {
    this.#isClosed = true;
    for (const writer of [...this.#open]) writer.leave();
  }

  #watch(): void {
    const { idleTimer = this.#clock.timer } = this.#clock;
    this.#stopTimer ??= idleTimer.call(this.#clock, LOOK_MS, () => {
      this.#stopTimer = undefined;
      const now = this.#clock.now();
      for (const writer of [...this.#open]) writer.look(now);
      for (const flow of [...this.#answers]) if (flow.isStuck(now)) this.#drop(flow);
      if (this.#open.size + this.#answers.size > 0) this.#watch();
    });
  }

  #drop(flow: Outflow): void {
    this.#answers.delete(flow);
    flow.cut(new Error("the reader does not read"));
  }

  /** Without a timer when there is nobody to look after. */
  #rest(): void {
    if (this.#open.size + this.#answers.size > 0) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }
}
