import type { AgentEvent } from "@awaken/contract";
import { AwakenError, errorMessage } from "@awaken/contract";
import { createParser, type EventSourceMessage, type ParseError } from "eventsource-parser";
import { LONG, pauseAfter, sleep, UNREACHABLE } from "./patience.ts";
import { toError } from "./transport.ts";

/** What happens on a thread or in a run. The last event of each commit has the place to go on from. */
export type AttachedEvent = AgentEvent & {
  /** Give it as `after` to go on behind this event. */
  readonly cursor?: string;
};

/** Opens a stream behind a cursor, or from its beginning. */
export type OpenStream = (after: string | undefined, signal: AbortSignal) => Promise<Response>;

export interface FollowInit {
  readonly open: OpenStream;
  readonly after: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** After this one nothing more is read. */
  readonly isLast: (event: AttachedEvent) => boolean;
}

/** The server says something every 15 s. */
const SILENCE_MS = 45_000;
/** A stream that lasted so long did not fail, whatever it told. */
const LASTING_MS = 5_000;
/** More than any event can have, in characters. */
const MAX_FRAME = 64 * 1024 * 1024;

/** What the log alone tells: the events of a commit come together, and the last of them has the cursor. */
export const KEPT = {
  "run-start": true,
  "run-end": true,
  "run-retry": true,
  "input-accepted": true,
  "inference-end": true,
  "tool-call-ready": true,
  "tool-call-end": true,
  "tool-call-resumed": true,
  "ticket-open": true,
  "decision-taken": true,
  "outcome-found": true,
  "thread-rewound": true,
  "child-start": true,
  "child-end": true,
} as const satisfies { readonly [Type in AgentEvent["type"]]?: true };

const SHOWN: ReadonlySet<string> = new Set<AgentEvent["type"]>(["text-delta", "reasoning-delta", "tool-call-start", "tool-call-delta"]);

function refuseHuge({ type }: ParseError): void {
  if (type === "max-buffer-size-exceeded")
    throw new AwakenError("internal", `the server sent an event of more than ${MAX_FRAME} characters`);
}

/** Frames of one response. A server that went silent is taken for gone. */
async function* framesOf(response: Response, leave: AbortController, signal: AbortSignal): AsyncGenerator<readonly EventSourceMessage[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let frames: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (frame) => void frames.push(frame), onError: refuseHuge, maxBufferSize: MAX_FRAME });
  let timer: ReturnType<typeof setTimeout> | undefined;
  // Hosts whose `fetch` does not do so itself would wait for the next word.
  const end = () => void reader.cancel().catch(() => {});
  signal.addEventListener("abort", end, { once: true });
  try {
    while (!signal.aborted) {
      timer = setTimeout(() => leave.abort(new Error("the server says nothing")), SILENCE_MS);
      const { done, value } = await reader.read();
      clearTimeout(timer);
      if (done) return;
      parser.feed(value);
      if (frames.length > 0) yield frames;
      frames = [];
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    await reader.cancel().catch(() => {});
  }
}

/**
 * One reader over as many connections as it takes: each event of the log comes once. What was shown of a step that was not on record when the
 * connection broke is taken back with `stream-reset`, and comes again.
 */
class Following {
  readonly #init: FollowInit;
  #cursor: string | undefined;
  #isOver = false;
  #hasShown = false;
  #failures = 0;
  /** Events of a commit whose last one has not come. */
  #held: AttachedEvent[] = [];

  constructor(init: FollowInit) {
    this.#init = init;
    this.#cursor = init.after;
  }

  async *events(): AsyncGenerator<AttachedEvent, undefined> {
    while (!this.#isOver) {
      const leave = new AbortController();
      const { signal } = this.#init;
      const both = signal === undefined ? leave.signal : AbortSignal.any([signal, leave.signal]);
      let why: unknown = new AwakenError(UNREACHABLE, "the server ends its streams before it tells anything");
      let openedAt: number | undefined;
      try {
        const response = await this.#init.open(this.#cursor, both);
        openedAt = performance.now();
        yield* this.#read(response, leave, both);
      } catch (thrown) {
        why = AwakenError.is(thrown) ? thrown : new AwakenError(UNREACHABLE, errorMessage(thrown), { cause: thrown });
      } finally {
        leave.abort();
      }
      if (this.#isOver || signal?.aborted === true) return;
      if (openedAt !== undefined && performance.now() - openedAt >= LASTING_MS) this.#failures = 0;
      this.#failures += 1;
      const pauseMs = pauseAfter(why, this.#failures, LONG);
      yield* this.#breakOff();
      try {
        await sleep(pauseMs, signal);
      } catch {
        return;
      }
    }
  }

  async *#read(response: Response, leave: AbortController, both: AbortSignal): AsyncGenerator<AttachedEvent, undefined> {
    // There is nothing behind the cursor, and nothing will come.
    if (response.status === 204) {
      this.#isOver = true;
      return;
    }
    const type = response.headers.get("content-type") ?? "none";
    if (!type.startsWith("text/event-stream")) {
      throw new AwakenError("internal", `the answer is no event stream but ${type.slice(0, 80)}: is it an Awaken server?`);
    }
    try {
      for await (const frames of framesOf(response, leave, both)) {
        for (const frame of frames) {
          for (const event of this.#take(frame)) {
            yield event;
            if (!this.#init.isLast(event)) continue;
            this.#isOver = true;
            return;
          }
        }
      }
    } catch (thrown) {
      if (AwakenError.is(thrown)) throw thrown;
      throw new AwakenError(UNREACHABLE, `the stream broke off: ${errorMessage(thrown)}`, { cause: thrown });
    }
  }

  #take({ data, id, event: kind }: EventSourceMessage): readonly AttachedEvent[] {
    if (kind === "error") throw toError(500, data);
    const event: AgentEvent = JSON.parse(data);
    if (id === undefined || id === "") return this.#hold(event);
    this.#cursor = id;
    this.#failures = 0;
    this.#hasShown = false;
    const told = [...this.#held, { ...event, cursor: id }];
    this.#held = [];
    return told;
  }

  #hold(event: AgentEvent): readonly AttachedEvent[] {
    if (this.#held.length > 0 || Object.hasOwn(KEPT, event.type)) {
      this.#held.push(event);
      return [];
    }
    if (event.type === "step-start" || event.type === "stream-reset") this.#hasShown = false;
    if (SHOWN.has(event.type)) this.#hasShown = true;
    return [event];
  }

  *#breakOff(): Generator<AttachedEvent> {
    this.#held = [];
    if (!this.#hasShown) return;
    this.#hasShown = false;
    yield { type: "stream-reset", reason: "the connection was lost" };
  }
}

export const follow = (init: FollowInit): AsyncGenerator<AttachedEvent, undefined> => new Following(init).events();
