import type { AgentEvent, ScopeId } from "@awaken/contract";
import type { LeftRun } from "../loop/finish.ts";
import type { FollowUntil } from "../run/run-parts.ts";
import type { AttachedEvent, AttachedEvents, AttachedIterator, AttachOptions } from "./attached-event.ts";
import type { Readers } from "./readers.ts";
import { following } from "./relay-door.ts";

type Asked = [readers: Readers, scopeId: ScopeId, id: string, options: AttachOptions];

/** Follows a run or a thread: what is on record, then what happens. Whoever leaves changes nothing but that. */
export function attach(readers: Readers, scopeId: ScopeId, id: string, options: AttachOptions = {}): AttachedEvents {
  const asked: Asked = [readers, scopeId, id, options];
  return { [Symbol.asyncIterator]: () => following.room?.attached(...asked) ?? new LateAttached(asked) };
}

/** The same for whoever heard of a run that has left, and was told of it until then. */
export async function* followLeft(readers: Readers, scopeId: ScopeId, left: LeftRun, until: FollowUntil): AsyncGenerator<AgentEvent> {
  yield* (await following.open()).followLeft(readers, scopeId, left, until);
}

/** For those who come before the part that follows is loaded. */
class LateAttached implements AttachedIterator {
  readonly #asked: Asked;
  #made: AttachedIterator | undefined;
  #isLeft = false;

  constructor(asked: Asked) {
    this.#asked = asked;
  }

  take(): AttachedEvent | undefined {
    return this.#made?.take();
  }

  async next(): Promise<IteratorResult<AttachedEvent, undefined>> {
    const { attached } = await following.open();
    if (this.#made === undefined && this.#isLeft) return this.return();
    this.#made ??= attached(...this.#asked);
    return this.#made.next();
  }

  async return(): Promise<IteratorResult<AttachedEvent, undefined>> {
    this.#isLeft = true;
    return this.#made?.return() ?? { done: true, value: undefined };
  }
}
