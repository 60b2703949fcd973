import { AwakenError } from "@awaken/contract";
import type { Clock } from "@awaken/runtime";
import { afterThisTick, BUFFER_BYTES, EventWriter, type FrameSink, type StreamInit } from "./event-writer.ts";

const LOOK_MS = 5_000;

/** What there is to stream. */
export type Streaming = Omit<StreamInit, "onEnd">;

/** All readers of one server, and the one timer that looks after them. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #open = new Set<EventWriter>();
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
  write(init: Streaming, sink: FrameSink): EventWriter {
    const onEnd = () => {
      this.#open.delete(writer);
      if (this.#open.size === 0) this.#stop();
    };
    const writer = new EventWriter({ ...init, onEnd }, this.#clock, sink);
    this.#open.add(writer);
    this.#watch();
    // Who comes when the server is leaving has his run and comes back elsewhere, too.
    if (this.#isClosed) afterThisTick(() => writer.leave());
    else void writer.write();
    return writer;
  }

  /** As the body of a response. Who gave up the request has left, also in a host that does not cancel the body then. */
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
            write: (frames) => {
              controller.enqueue(this.#encoder.encode(frames));
              return (controller.desiredSize ?? 0) > 0;
            },
            end: () => {
              over();
              controller.close();
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
      if (this.#open.size > 0) this.#watch();
    });
  }

  #stop(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }
}
