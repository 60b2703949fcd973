import { type AgentEvent, checkOptions, type PartRules, partRule, RULES, type ScopeId } from "@awaken/contract";
import type { LeftRun } from "../loop/finish.ts";
import type { FollowUntil } from "../run/run-parts.ts";
import { onAbort } from "../stream/abort.ts";
import { checkOpen } from "../stream/closed.ts";
import { type Late, whenThere } from "../stream/door.ts";
import type { AttachedEvent, AttachedIterator, AttachOptions } from "./attached-event.ts";
import { type FollowOptions, follow, type Reader } from "./follow.ts";
import type { Readers } from "./readers.ts";
import type { Relay } from "./relay.ts";

/** From whatever realm it comes. */
const isSignal = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;

const ATTACH_OPTIONS: PartRules<AttachOptions> = {
  after: partRule("the cursor of an event", (value) => typeof value === "string"),
  from: RULES.oneOf("start", "now"),
  onCaughtUp: RULES.code,
  signal: partRule("an AbortSignal", isSignal),
};

/** Follows from its first `next` on. */
export const attached = (readers: Readers, scopeId: ScopeId, id: string, options: AttachOptions): AttachedIterator =>
  new Attached(readers, scopeId, id, options, () => check(options));

const check = (options: AttachOptions) => checkOptions("invalid_activation", "attach", options, ATTACH_OPTIONS);

/** The same for whoever heard of a run that has left, and was told of it until then. Cursors are for readers who come back. */
export async function* followLeft(
  readers: Readers,
  scopeId: ScopeId,
  { runId, told }: LeftRun,
  until: FollowUntil,
): AsyncGenerator<AgentEvent> {
  const events = { [Symbol.asyncIterator]: () => new Attached(readers, scopeId, runId, { told, ...until }) };
  for await (const { cursor: _cursor, ...event } of events) yield event;
}

const ENDED: IteratorReturnResult<undefined> = { done: true, value: undefined };

/** Events one by one. They come in batches: an event that is there already costs no trip through those who made it. */
class Attached implements AttachedIterator {
  readonly #readers: Readers;
  readonly #scopeId: ScopeId;
  readonly #id: string;
  readonly #options: FollowOptions;
  readonly #check: (() => void) | undefined;
  #relay: Relay | undefined;
  #reader: Reader | undefined;
  #off: (() => void) | undefined;
  #unexpect: (() => void) | undefined;
  #isBegun = false;
  #isOver = false;
  #batch: readonly AttachedEvent[] = [];
  #at = 0;
  /** Whoever asks while another still waits comes after him. */
  #asked: Promise<IteratorResult<AttachedEvent, undefined>> | undefined;
  #waiting = 0;

  constructor(...[readers, scopeId, id, options, check]: [Readers, ScopeId, string, FollowOptions, check?: () => void]) {
    this.#readers = readers;
    this.#scopeId = scopeId;
    this.#id = id;
    this.#options = options;
    this.#check = check;
  }

  next(): Promise<IteratorResult<AttachedEvent, undefined>> {
    const event = this.take();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    const before = this.#waiting === 0 ? undefined : this.#asked;
    this.#waiting += 1;
    const refuse = (thrown: unknown) => {
      this.#waiting -= 1;
      throw thrown;
    };
    this.#asked = before === undefined ? this.#next() : before.then(() => this.#next(), refuse);
    return this.#asked;
  }

  take(): AttachedEvent | undefined {
    return this.#waiting === 0 ? this.#take() : undefined;
  }

  #take(): AttachedEvent | undefined {
    return this.#options.signal?.aborted ? undefined : this.#batch[this.#at++];
  }

  /** Whatever ends it, nothing is held afterwards. */
  async #next(): Promise<IteratorResult<AttachedEvent, undefined>> {
    try {
      for (;;) {
        const event = this.#take();
        if (event !== undefined) return { done: false, value: event };
        const opening = this.#isBegun ? undefined : this.#begin();
        if (opening !== undefined) await opening;
        const batch = this.#isOver ? undefined : await this.#reader?.next();
        if (batch === undefined) break;
        this.#batch = batch;
        this.#at = 0;
      }
      this.#end();
      return ENDED;
    } catch (thrown) {
      // What breaks off because he leaves, or because the runtime is closed, has failed nobody.
      const isLeft = this.#isOver || this.#isClosing;
      this.#end();
      if (isLeft) return ENDED;
      throw thrown;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Undefined when what is followed is known at once. */
  #begin(): Promise<void> | undefined {
    this.#isBegun = true;
    if (this.#isOver) return undefined;
    this.#check?.();
    const entered = this.#readers.enter(this.#scopeId);
    const { onClosing } = this.#readers;
    const leave = (thrown: unknown) => {
      this.#readers.exit(this.#scopeId);
      throw thrown;
    };
    let reader: Late<Reader>;
    try {
      reader = whenThere(entered, (relay) => {
        checkOpen(relay.closing);
        this.#relay = relay;
        return follow({ relay, exchange: relay.exchange, onClosing }, this.#id, this.#options);
      });
    } catch (thrown) {
      return leave(thrown);
    }
    if (reader instanceof Promise) return reader.then((late) => this.#read(late), leave);
    this.#read(reader);
    return undefined;
  }

  #read(reader: Reader): void {
    const { signal } = this.#options;
    this.#reader = reader;
    this.#unexpect = this.#readers.expect(this.#scopeId, reader.threadId);
    // He may have left meanwhile: then all of it is given back at once.
    this.#off = signal && onAbort(signal, () => this.#end());
    if (this.#isOver) this.#close();
  }

  get #isClosing(): boolean {
    return this.#relay?.closing.aborted === true;
  }

  /** Nothing comes any more. */
  #end(): void {
    this.#isOver = true;
    this.#close();
  }

  #close(): void {
    const reader = this.#reader;
    if (reader === undefined) return;
    this.#reader = undefined;
    this.#off?.();
    this.#unexpect?.();
    reader.close();
    this.#readers.exit(this.#scopeId);
  }

  return(): Promise<IteratorResult<AttachedEvent, undefined>> {
    this.#batch = [];
    this.#end();
    return this.#waiting === 0 || this.#asked === undefined
      ? Promise.resolve(ENDED)
      : this.#asked.then(
          () => ENDED,
          () => ENDED,
        );
  }
}
