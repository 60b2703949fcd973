import { AwakenError } from "@awaken/contract";
import type { AttachedEvent, Clock } from "@awaken/runtime";

/** A comment on a stream that has nothing to say, so that nobody between takes it for dead. */
const HEARTBEAT_MS = 15_000;
/** How long a reader may leave his buffer full. */
const STALL_MS = 30_000;
const LOOK_MS = 5_000;
/** What is kept for a reader that is behind, in bytes. The log has the rest. */
const BUFFER_BYTES = 64 * 1024;

const HEARTBEAT = ": heartbeat\n\n";

/** Frames of one tick are one write: it comes when what happens now has happened. */
const afterThisTick: (work: () => void) => void =
  typeof setImmediate === "function" ? (work) => void setImmediate(work) : (work) => void setTimeout(work, 0);

/** One event as it travels. What is not on record has no id, so that it moves nobody's cursor. */
export function frameOf({ cursor, ...event }: AttachedEvent): string {
  const data = `data: ${JSON.stringify(event)}\n\n`;
  return cursor === undefined ? data : `id: ${cursor}\n${data}`;
}

export const errorFrame = (body: { readonly error: string; readonly code: string }): string =>
  `event: error\ndata: ${JSON.stringify(body)}\n\n`;

/** Events in the words of the server. */
const native = { encode: frameOf, end: () => "", fail: errorFrame };

interface StreamInit {
  readonly events: AsyncIterator<AttachedEvent>;
  /** Default: each event as it is. */
  readonly encoder?: {
    encode(event: AttachedEvent): string;
    end(): string;
    fail(body: { readonly error: string; readonly code: string }): string;
  };
  /** What a reader is told when the events fail, after which his stream ends. */
  readonly refuse: (thrown: unknown) => { readonly error: string; readonly code: string };
  readonly onEnd: () => void;
}

/**
 * One reader. Events are asked for as he has room for them: one that does not read costs his buffer and nothing else, is dropped after a while,
 * and comes back with his cursor.
 */
class EventWriter {
  readonly body: ReadableStream<Uint8Array>;
  readonly #init: StreamInit;
  readonly #clock: Clock;
  readonly #encoder: TextEncoder;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #frames = "";
  #isScheduled = false;
  #isOver = false;
  #hasRoom: (() => void) | undefined;
  #quietSince: number;
  #fullSince: number | undefined;

  constructor(init: StreamInit, clock: Clock, encoder: TextEncoder) {
    this.#init = init;
    this.#clock = clock;
    this.#encoder = encoder;
    this.#quietSince = clock.now();
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pulled(),
        cancel: () => {
          this.#controller = undefined;
          this.end();
        },
      },
      { highWaterMark: BUFFER_BYTES, size: (chunk) => chunk.byteLength },
    );
    void this.#write();
  }

  /** What a look at the clock says. */
  look(now: number): void {
    if (this.#fullSince !== undefined) {
      if (now - this.#fullSince >= STALL_MS) this.end(new Error("the reader does not read"));
    } else if (now - this.#quietSince >= HEARTBEAT_MS) this.#say(HEARTBEAT);
  }

  /** Ends the stream as it is; with an error the connection is cut. */
  end(cut?: Error): void {
    if (this.#isOver) return;
    this.#flush();
    this.#isOver = true;
    this.#hasRoom?.();
    void Promise.resolve(this.#init.events.return?.()).catch(() => {});
    if (cut === undefined) this.#controller?.close();
    else this.#controller?.error(cut);
    this.#init.onEnd();
  }

  async #write(): Promise<void> {
    const { events, refuse, encoder = native } = this.#init;
    try {
      for (let next = await events.next(); !next.done && !this.#isOver; next = await events.next()) {
        this.#say(encoder.encode(next.value));
        if (this.#frames.length >= BUFFER_BYTES || !this.#isFree) await this.#room();
      }
      this.#say(encoder.end());
    } catch (thrown) {
      if (!this.#isOver) this.#say(encoder.fail(refuse(thrown)));
    }
    this.end();
  }

  get #isFree(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  #say(frame: string): void {
    if (this.#isOver || frame === "") return;
    this.#frames += frame;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    afterThisTick(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#isOver || this.#frames === "") return;
    this.#controller?.enqueue(this.#encoder.encode(this.#frames));
    this.#frames = "";
    this.#quietSince = this.#clock.now();
    if (!this.#isFree) this.#fullSince ??= this.#quietSince;
  }

  /** Until the reader has read. */
  async #room(): Promise<void> {
    this.#flush();
    if (this.#isFree || this.#isOver) return;
    await new Promise<void>((resolve) => {
      this.#hasRoom = resolve;
    });
  }

  #pulled(): void {
    this.#fullSince = undefined;
    this.#hasRoom?.();
    this.#hasRoom = undefined;
  }
}

/** All readers of one server, and the one timer that looks after them. */
export class EventStreams {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #open = new Set<EventWriter>();
  readonly #encoder = new TextEncoder();
  #stopTimer: (() => void) | undefined;

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

  open(init: Omit<StreamInit, "onEnd">): ReadableStream<Uint8Array> {
    const onEnd = () => {
      this.#open.delete(writer);
      if (this.#open.size === 0) this.#stop();
    };
    const writer = new EventWriter({ ...init, onEnd }, this.#clock, this.#encoder);
    this.#open.add(writer);
    this.#watch();
    return writer.body;
  }

  /** Readers come back elsewhere with their cursors. */
  close(): void {
    for (const writer of [...this.#open]) writer.end();
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
