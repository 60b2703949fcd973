import type { ToolReply } from "../tool/tool.ts";
import type { AllowedCall } from "./live-call.ts";
import type { RunContext } from "./run-context.ts";
import { execute } from "./tool-call.ts";

/** Calls of a round that go on for this long are not waited for any more: what is ready beside them is told and put on record. */
const LASTING_MS = 250;

interface Running {
  readonly call: AllowedCall;
  reply: ToolReply | undefined;
}

interface EndedCall {
  readonly call: AllowedCall;
  readonly reply: ToolReply;
}

const isReady = (entry: Running): entry is EndedCall => entry.reply !== undefined;

/** The calls of a round that are under way at the same time, in the order in which they began. */
export class RunningCalls {
  readonly #ctx: RunContext;
  #entries: Running[] = [];
  #isLasting = false;
  #unready = 0;
  /** Something happened since the last look. */
  #hasNews = false;
  #stopTimer: (() => void) | undefined;
  #wake: (() => void) | undefined;

  constructor(ctx: RunContext) {
    this.#ctx = ctx;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Each of them has its reply. */
  get areReady(): boolean {
    return this.#unready === 0;
  }

  get isLasting(): boolean {
    return this.#isLasting;
  }

  /** Begins it. A call that cannot begin, because that throws, is none of them. */
  add(call: AllowedCall): void {
    const entry: Running = { call, reply: undefined };
    execute(this.#ctx, call, (reply) => {
      entry.reply = reply;
      this.#unready -= 1;
      this.#ring();
    });
    this.#entries.push(entry);
    this.#unready += 1;
  }

  /** From now on it is noticed when they last. */
  watch(): void {
    if (this.#isLasting || this.#stopTimer !== undefined) return;
    this.#stopTimer = this.#ctx.clock.timer(LASTING_MS, () => {
      this.#isLasting = true;
      this.#stopTimer = undefined;
      this.#ring();
    });
  }

  /** Once for all that come together: to fulfil what is fulfilled costs more than to look. */
  #ring(): void {
    this.#hasNews = true;
    this.#wake?.();
    this.#wake = undefined;
  }

  /** Resolves when one more is ready, or they last, since the last look. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#hasNews) resolve();
    });
  }

  /** Those that are ready and have none before them that is not. When they last, or one waits for a decision, all that are ready. */
  takeReady(): readonly EndedCall[] {
    if (!this.#hasNews) return [];
    this.#hasNews = false;
    this.#isLasting ||= this.#entries.some(({ reply }, index) => index > 0 && reply?.result.type === "pending");
    const ready: EndedCall[] = [];
    const left: Running[] = [];
    for (const entry of this.#entries) {
      if (isReady(entry) && (this.#isLasting || left.length === 0)) ready.push(entry);
      else left.push(entry);
    }
    this.#entries = left;
    if (left.length === 0) this.close();
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
