import type { ScopeId } from "@awaken/contract";
import type { AttachedEvent, AttachedEvents, AttachedIterator, AttachOptions } from "./attached-event.ts";
import type { LateReaders } from "./readers.ts";
import { following } from "./relay-door.ts";

type Asked = [scopeId: ScopeId, id: string, options: AttachOptions];

/** Follows a run or a thread: what is on record, then what happens. Whoever leaves changes nothing but that. */
export function attach(readers: LateReaders, scopeId: ScopeId, id: string, options: AttachOptions = {}): AttachedEvents {
  const asked: Asked = [scopeId, id, options];
  const made = () => {
    const there = readers.now();
    return there && following.room?.attached(there, ...asked);
  };
  return { [Symbol.asyncIterator]: () => made() ?? new LateAttached(readers, asked) };
}

/** For those who come before the part that follows is loaded. */
class LateAttached implements AttachedIterator {
  readonly #readers: LateReaders;
  readonly #asked: Asked;
  #made: AttachedIterator | undefined;
  #isLeft = false;

  constructor(readers: LateReaders, asked: Asked) {
    this.#readers = readers;
    this.#asked = asked;
  }

  take(): AttachedEvent | undefined {
    return this.#made?.take();
  }

  async next(): Promise<IteratorResult<AttachedEvent, undefined>> {
    const { attached } = await following.open();
    const readers = await this.#readers.open();
    if (this.#made === undefined && this.#isLeft) return this.return();
    this.#made ??= attached(readers, ...this.#asked);
    return this.#made.next();
  }

  async return(): Promise<IteratorResult<AttachedEvent, undefined>> {
    this.#isLeft = true;
    return this.#made?.return() ?? { done: true, value: undefined };
  }
}
