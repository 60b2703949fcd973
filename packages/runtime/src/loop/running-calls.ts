import type { Clock } from "../stream/clock.ts";
import type { ToolReply } from "../tool/tool.ts";
import type { AllowedCall } from "./live-call.ts";

/** Calls of a round that go on for this long are not waited for any more: what is ready beside them is told and put on record. */
const LASTING_MS = 250;

interface Running {
  readonly call: AllowedCall;
  reply: ToolReply | undefined;
}

export interface ReadyCall {
  readonly call: AllowedCall;
  readonly reply: ToolReply;
}

const NONE: readonly never[] = Object.freeze([]);

const isReady = (entry: Running): entry is ReadyCall => entry.reply !== undefined;

/** The calls of a round that are under way at the same time, in the order in which they began. */
export class RunningCalls {
  readonly #clock: Clock;
  #entries: Running[] = [];
  #isLasting = false;
  /** Something happened since the last look. */
  #hasNews = false;
  #stopTimer: (() => void) | undefined;
  #wake: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#entries.length;
  }

  get isLasting(): boolean {
    return this.#isLasting;
  }

  /** `reply` never rejects. */
  add(call: AllowedCall, reply: Promise<ToolReply>): void {
    const entry: Running = { call, reply: undefined };
    this.#entries.push(entry);
    void reply.then((given) => {
      entry.reply = given;
      this.#hasNews = true;
      this.#wake?.();
    });
  }

  /** From now on it is noticed when they last. */
  watch(): void {
    if (this.#isLasting || this.#stopTimer !== undefined) return;
    this.#stopTimer = this.#clock.timer(LASTING_MS, () => {
      this.#isLasting = true;
      this.#stopTimer = undefined;
      this.#hasNews = true;
      this.#wake?.();
    });
  }

  /** Resolves when one more is ready, or they last, since the last look. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#hasNews) resolve();
    });
  }

  /** Those that are ready and have none before them that is not. When they last, or one waits for a decision, all that are ready. */
  takeReady(): readonly ReadyCall[] {
    if (!this.#hasNews) return NONE;
    this.#hasNews = false;
    this.#isLasting ||= this.#entries.some(({ reply }, index) => index > 0 && reply?.result.type === "pending");
    const end = this.#entries.findIndex((entry) => !isReady(entry));
    const ready = this.#isLasting || end === -1 ? this.#entries.filter(isReady) : this.#entries.slice(0, end).filter(isReady);
    if (ready.length > 0)
      this.#entries = this.#isLasting ? this.#entries.filter((entry) => !isReady(entry)) : this.#entries.slice(ready.length);
    if (this.#entries.length === 0) this.close();
    return ready;
  }

  /** None is under way any more that could last. */
  close(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#isLasting = false;
    this.#wake = undefined;
  }
}
