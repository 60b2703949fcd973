import type { AttachedEvent, Clock } from "@awaken/runtime";

/** A comment on a stream that has nothing to say, so that nobody between takes it for dead. */
const HEARTBEAT_MS = 15_000;
/** How long a reader may leave his buffer full. */
const STALL_MS = 30_000;
/** What is kept for a reader that is behind, in bytes. The log has the rest. */
export const BUFFER_BYTES = 64 * 1024;

const HEARTBEAT = ": heartbeat\n\n";

/** Frames of one tick are one write: it comes when what happens now has happened. */
export const afterThisTick: (work: () => void) => void =
  typeof setImmediate === "function" ? (work) => void setImmediate(work) : (work) => void setTimeout(work, 0);

/** One event as it travels. What is not on record has no id, so that it moves nobody's cursor. */
function frameOf(event: AttachedEvent): string {
  if (event.cursor === undefined) return `data: ${JSON.stringify(event)}\n\n`;
  const { cursor, ...told } = event;
  return `id: ${cursor}\ndata: ${JSON.stringify(told)}\n\n`;
}

const BROKEN_OFF = "the events broke off";

interface ToldError {
  readonly error: string;
  readonly code: string;
}

const errorFrame = (body: ToldError): string => `event: error\ndata: ${JSON.stringify(body)}\n\n`;

/** Events in the words of the server. */
const native = { encode: frameOf, end: () => "", fail: errorFrame };

/** Where frames go. It tells the writer when it has room again, and when its reader is gone. */
export interface FrameSink {
  /** False when it holds as much as it may. */
  write(frames: string): boolean;
  end(): void;
  /** The connection is broken off. */
  cut(why: Error): void;
}

/** Events that are written. Whoever has some at hand gives them without a promise for each. */
export interface WrittenEvents extends AsyncIterator<AttachedEvent> {
  /** One that is there already; undefined when the next one has to be waited for. */
  take?(): AttachedEvent | undefined;
}

export interface StreamInit {
  readonly events: WrittenEvents;
  /** Default: each event as it is. */
  readonly encoder?: {
    encode(event: AttachedEvent): string;
    /** Undefined: the events broke off. */
    end(): string | undefined;
    fail(body: ToldError): string;
  };
  /** Called when the reader goes before the end; not when the server ends his stream. */
  readonly onLeft?: () => void;
  /** What a reader is told when the events fail, after which his stream ends. */
  readonly refuse: (thrown: unknown) => ToldError;
  readonly onEnd: () => void;
}

/**
 * One reader. Events are asked for as he has room for them: one that does not read costs his buffer and nothing else, is dropped after a while,
 * and comes back with his cursor.
 */
export class EventWriter {
  readonly #init: StreamInit;
  readonly #clock: Clock;
  readonly #sink: FrameSink;
  #frames = "";
  #isScheduled = false;
  #isOver = false;
  #hasRoom = true;
  #onRoom: (() => void) | undefined;
  #quietSince: number;
  #fullSince: number | undefined;

  constructor(init: StreamInit, clock: Clock, sink: FrameSink) {
    this.#init = init;
    this.#clock = clock;
    this.#sink = sink;
    this.#quietSince = clock.now();
  }

  /** What a look at the clock says. */
  look(now: number): void {
    if (this.#fullSince !== undefined) {
      if (now - this.#fullSince >= STALL_MS) this.end(new Error("the reader does not read"));
    } else if (now - this.#quietSince >= HEARTBEAT_MS) this.#say(HEARTBEAT);
  }

  /** The sink can take more. */
  drained(): void {
    this.#hasRoom = true;
    this.#fullSince = undefined;
    this.#onRoom?.();
    this.#onRoom = undefined;
  }

  /** Nobody reads any more. */
  left(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#init.onLeft?.();
  }

  /** Ends the stream as it is; with an error the connection is cut. */
  end(cut?: Error): void {
    if (this.#isOver) return;
    this.#flush();
    this.#finish();
    if (cut === undefined) this.#sink.end();
    else this.#sink.cut(cut);
  }

  /** The server leaves: a reader who knows cursors comes back for the rest, and one who is told an end would take this for it. */
  leave(): void {
    const { encoder = native } = this.#init;
    this.end(encoder.end() === undefined ? new Error(BROKEN_OFF) : undefined);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onRoom?.();
    void Promise.resolve(this.#init.events.return?.()).catch(() => {});
    this.#init.onEnd();
  }

  /** Until there is nothing more to tell. */
  async write(): Promise<void> {
    const { events, refuse, encoder = native } = this.#init;
    try {
      while (!this.#isOver) {
        let event = events.take?.();
        if (event === undefined) {
          const next = await events.next();
          if (next.done) break;
          event = next.value;
        }
        this.#say(encoder.encode(event));
        if (this.#frames.length >= BUFFER_BYTES || !this.#hasRoom) await this.#room();
      }
      const last = encoder.end();
      if (last === undefined) {
        this.end(new Error(BROKEN_OFF));
        return;
      }
      this.#say(last);
    } catch (thrown) {
      if (!this.#isOver) this.#say(encoder.fail(refuse(thrown)));
    }
    this.end();
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
    const frames = this.#frames;
    this.#frames = "";
    this.#quietSince = this.#clock.now();
    this.#hasRoom = this.#sink.write(frames);
    if (!this.#hasRoom) this.#fullSince ??= this.#quietSince;
  }

  /** Until the reader has read. */
  async #room(): Promise<void> {
    this.#flush();
    if (this.#hasRoom || this.#isOver) return;
    await new Promise<void>((resolve) => {
      this.#onRoom = resolve;
    });
  }
}
