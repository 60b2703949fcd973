import { type AgentEvent, checkOptions, type PartRules, partRule, RULES, type ScopeId } from "@awaken/contract";
import type { LeftRun } from "../loop/finish.ts";
import type { AttachedEvent, AttachOptions } from "./attached-event.ts";
import type { FollowOptions } from "./follow.ts";
import { following } from "./relay-door.ts";
import type { Relays } from "./relays.ts";

/** From whatever realm it comes. */
const isSignal = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;

const ATTACH_OPTIONS: PartRules<AttachOptions> = {
  after: partRule("the cursor of an event", (value) => typeof value === "string"),
  from: RULES.oneOf("start", "now"),
  onCaughtUp: RULES.code,
  signal: partRule("an AbortSignal", isSignal),
};

/** Follows a run or a thread: what is on record, then what happens. Whoever leaves changes nothing but that. */
export function attach(relays: Relays, scopeId: ScopeId, id: string, options: AttachOptions = {}): AsyncIterable<AttachedEvent> {
  return { [Symbol.asyncIterator]: () => new Attached((leaving) => checked(relays, scopeId, id, options, leaving), options.signal) };
}

/** The same for whoever heard of a run that has left, and was told of it until then. Cursors are for readers who come back. */
export async function* followLeft(
  relays: Relays,
  scopeId: ScopeId,
  { runId, told }: LeftRun,
  enough: AbortSignal,
): AsyncGenerator<AgentEvent> {
  const leaving = new AbortController();
  try {
    for await (const batch of enter(relays, scopeId, runId, { told, enough }, leaving.signal)) {
      for (const { cursor: _cursor, ...event } of batch) yield event;
    }
  } finally {
    leaving.abort(LEFT);
  }
}

/** Why a reader goes: nobody looks at it, so that it needs no stack. */
const LEFT = new Error("the reader has left");

type Batches = AsyncGenerator<readonly AttachedEvent[], void, undefined>;

/** Events one by one. They come in batches: an event that is there already costs no trip through those who made it. */
class Attached implements AsyncIterator<AttachedEvent, undefined> {
  readonly #leaving = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #batches: Batches;
  #batch: readonly AttachedEvent[] = [];
  #at = 0;
  /** Whoever asks while another still waits comes after him. */
  #asked: Promise<IteratorResult<AttachedEvent, undefined>> | undefined;

  constructor(begin: (leaving: AbortSignal) => Batches, signal: AbortSignal | undefined) {
    this.#batches = begin(this.#leaving.signal);
    this.#signal = signal;
  }

  next(): Promise<IteratorResult<AttachedEvent, undefined>> {
    const event = this.#asked === undefined ? this.#take() : undefined;
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    const asked = this.#asked === undefined ? this.#next() : this.#asked.then(() => this.#next());
    this.#asked = asked;
    const answered = () => {
      if (this.#asked === asked) this.#asked = undefined;
    };
    asked.then(answered, answered);
    return asked;
  }

  #take(): AttachedEvent | undefined {
    return this.#signal?.aborted ? undefined : this.#batch[this.#at++];
  }

  async #next(): Promise<IteratorResult<AttachedEvent, undefined>> {
    for (;;) {
      const event = this.#take();
      if (event !== undefined) return { done: false, value: event };
      const next = await this.#batches.next();
      if (next.done) return { done: true, value: undefined };
      this.#batch = next.value;
      this.#at = 0;
    }
  }

  async return(): Promise<IteratorResult<AttachedEvent, undefined>> {
    this.#batch = [];
    // Whoever waits for the next event is let go.
    if (!this.#leaving.signal.aborted) this.#leaving.abort(LEFT);
    await this.#batches.return();
    return { done: true, value: undefined };
  }
}

async function* checked(...given: [Relays, ScopeId, string, AttachOptions, AbortSignal]): Batches {
  checkOptions("invalid_activation", "attach", given[3], ATTACH_OPTIONS);
  yield* enter(...given);
}

async function* enter(...[relays, scopeId, id, options, leaving]: [Relays, ScopeId, string, FollowOptions, AbortSignal]): Batches {
  const relay = relays.enter(scopeId);
  try {
    const { follow } = await following.open();
    yield* follow({ relay, exchange: await relay.exchange() }, id, options, leaving);
  } finally {
    relays.exit(scopeId);
  }
}
