import type { AttachedEvent, Clock } from "@awaken/runtime";
import { BUFFER_BYTES, Outflow, type Sink } from "./outflow.ts";

/** A comment on a stream that has nothing to say, so that nobody between takes it for dead. */
const HEARTBEAT_MS = 15_000;

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
  /** Called once, when nothing is kept for the reader any more. */
  readonly onGone: () => void;
}

/**
 * One reader. Events are asked for as he has room for them: one that does not read costs his buffer and nothing else, is dropped after a while,
 * and comes back with his cursor.
 */
export class EventWriter {
  readonly #init: StreamInit;
  readonly #clock: Clock;
  readonly #flow: Outflow;
  #frames = "";
  #isScheduled = false;
  #isOver = false;
  #isGone = false;
  #onRoom: (() => void) | undefined;
  #quietSince: number;

  constructor(init: StreamInit, clock: Clock, sink: Sink) {
    this.#init = init;
    this.#clock = clock;
    this.#flow = new Outflow(sink, clock);
    this.#quietSince = clock.now();
  }

  /** What a look at the clock says. */
  look(now: number): void {
    if (this.#flow.isStuck(now)) this.#cut(new Error("the reader does not read"));
    else if (this.#flow.isFree && now - this.#quietSince >= HEARTBEAT_MS) this.#say(HEARTBEAT);
  }

  /** The sink can take more. */
  drained(): void {
    this.#flow.drained();
    if (!this.#flow.isFree) return;
    this.#onRoom?.();
    this.#onRoom = undefined;
  }

  /** Nobody reads any more: he has all of it, or went before. */
  left(): void {
    const isEarly = !this.#isOver;
    this.#finish();
    this.#gone();
    if (isEarly) this.#init.onLeft?.();
  }

  /** The server leaves: a reader who knows cursors comes back for the rest, and one who is told an end would take this for it. */
  leave(): void {
    if (this.#isOver) return;
    const { encoder = native } = this.#init;
    this.#endWith(encoder.end());
  }

  /** As `leave`, before anything was told: an end without a beginning would be taken for the whole. */
  leaveUntold(): void {
    if (this.#init.encoder === undefined) this.leave();
    else this.#cut(new Error(BROKEN_OFF));
  }

  #endWith(last: string | undefined): void {
    if (last === undefined) this.#cut(new Error(BROKEN_OFF));
    else {
      this.#say(last);
      this.#end();
    }
  }

  /** The reader is watched until he has taken what there is. */
  #end(): void {
    if (this.#isOver) return;
    this.#flush();
    this.#finish();
    this.#flow.end();
  }

  #cut(why: Error): void {
    if (this.#isGone) return;
    this.#flush();
    this.#finish();
    this.#gone();
    this.#flow.cut(why);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onRoom?.();
    this.#init.events.return?.().catch(() => {});
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#init.onGone();
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
        if (this.#frames.length >= BUFFER_BYTES || !this.#flow.isFree) await this.#room();
      }
      if (!this.#isOver) this.#endWith(encoder.end());
    } catch (thrown) {
      if (!this.#isOver) this.#say(encoder.fail(refuse(thrown)));
      this.#end();
    }
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
    this.#flow.write(frames);
  }

  /** Until the reader has read. */
  async #room(): Promise<void> {
    this.#flush();
    if (this.#flow.isFree || this.#isOver) return;
    await new Promise<void>((resolve) => {
      this.#onRoom = resolve;
    });
  }
}
