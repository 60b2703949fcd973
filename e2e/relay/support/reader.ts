import { type AgentEvent, EVENT_TABLE } from "@awaken/contract";
import type { AttachedEvent, Runtime } from "@awaken/runtime";
import { expect } from "vitest";

/** Reads as it comes, from a position on. */
export class Reader {
  readonly events: AttachedEvent[] = [];
  readonly #iterator: AsyncIterator<AttachedEvent>;
  readonly #reading: Promise<void>;
  #isOver = false;
  #wake: () => void = () => {};

  constructor(source: AsyncIterable<AttachedEvent>) {
    this.#iterator = source[Symbol.asyncIterator]();
    this.#reading = this.#read();
    this.#reading.catch(() => {});
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get cursor(): string | undefined {
    return this.events.findLast(({ cursor }) => cursor !== undefined)?.cursor;
  }

  async #read(): Promise<void> {
    try {
      for (let next = await this.#iterator.next(); !next.done; next = await this.#iterator.next()) {
        this.events.push(next.value);
        this.#wake();
      }
    } finally {
      this.#isOver = true;
      this.#wake();
    }
  }

  /** Until an event that has come, or comes, is the one. */
  async until(isIt: (event: AttachedEvent) => boolean, ms = 120_000): Promise<AttachedEvent> {
    const end = performance.now() + ms;
    for (;;) {
      const found = this.events.find(isIt);
      if (found !== undefined) return found;
      if (this.#isOver) await this.#reading;
      if (this.#isOver || performance.now() > end)
        expect.fail(`it did not come; there is ${this.events.map(({ type }) => type).join(" ")}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, 50);
      });
    }
  }

  async leave(): Promise<readonly AttachedEvent[]> {
    await this.#iterator.return?.();
    await this.#reading;
    return this.events;
  }

  /** Rejects with what ended it. */
  get ended(): Promise<void> {
    return this.#reading;
  }
}

export const isEndOf =
  (count: number) =>
  (events: readonly AgentEvent[]): boolean =>
    events.filter(({ type }) => type === "run-end").length >= count;

/** What is committed of what was seen: facts, as they were told. */
export const factsOf = (events: readonly AttachedEvent[]): readonly AgentEvent[] =>
  events.flatMap(({ cursor: _cursor, ...event }) => (EVENT_TABLE[event.type].isStored ? [event] : []));

/** Everything that there is to read now. */
export async function readAll(runtime: Pick<Runtime, "attach">, id: string, after?: string): Promise<readonly AttachedEvent[]> {
  const caughtUp = Promise.withResolvers<void>();
  const reader = new Reader(runtime.attach(id, { onCaughtUp: caughtUp.resolve, ...(after === undefined ? undefined : { after }) }));
  await Promise.race([caughtUp.promise, reader.ended]);
  return reader.leave();
}

/** What was said of each answer in the end: what a reset voided does not count. */
export function wordsOf(events: readonly AgentEvent[]): ReadonlyMap<string, string> {
  const words = new Map<string, string>();
  let id = "";
  for (const event of events) {
    if (event.type === "step-start") id = event.messageId;
    if (event.type === "step-start" || event.type === "stream-reset") words.set(id, "");
    if (event.type === "text-delta") words.set(id, (words.get(id) ?? "") + event.delta);
  }
  return words;
}
