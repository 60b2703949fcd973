import type { JsonObject } from "@awaken/contract";
import { stepSoFar } from "../loop/step-so-far.ts";
import type { ActiveRun } from "../run/active-runs.ts";
import type { Clock } from "../stream/clock.ts";
import { isPassing, type PassingEvent, reportsOf } from "./live-event.ts";
import { pack, toBody } from "./parcels.ts";
import { withHeard } from "./passing.ts";
import { ShownStep } from "./show-step.ts";

/** What happens in so short a time is told together. */
const JOIN_MS = 50;
/** Nobody is told any more when nobody has asked for this long. */
export const ASKED_MS = 30_000;

export interface PublisherInit {
  readonly run: ActiveRun;
  readonly by: string;
  readonly clock: Clock;
  readonly send: (body: JsonObject) => void;
  /** Nobody asks any more, or the run is over. */
  readonly onEnd: () => void;
}

/** Tells other processes of one run of this one, as long as somebody asks for it. */
export class Publisher {
  readonly #init: PublisherInit;
  readonly #leave: () => void;
  #sent: ShownStep | undefined;
  #passing: PassingEvent[] = [];
  #count = 0;
  #stopTimer: (() => void) | undefined;
  #stopEnd: (() => void) | undefined;
  #isOver = false;

  constructor(init: PublisherInit) {
    this.#init = init;
    const { run } = init;
    this.#leave = run.listeners.add((event) => {
      if (isPassing(event)) this.#passing = withHeard(this.#passing, { step: run.ctx?.progress.step ?? 0, event });
      this.#stopTimer ??= init.clock.timer(JOIN_MS, () => this.#flush());
    });
    void run.released.then(() => this.close());
  }

  /** Somebody who has heard nothing is there: the step is told from its beginning. */
  asked(): void {
    if (this.#isOver) return;
    this.#stopEnd?.();
    this.#stopEnd = this.#init.clock.timer(ASKED_MS, () => this.close());
    this.#sent = undefined;
    this.#passing = [...reportsOf(this.#init.run), ...this.#passing];
    this.#flush();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopTimer?.();
    this.#stopEnd?.();
    this.#leave();
    this.#init.onEnd();
  }

  #flush(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const { run, by, send } = this.#init;
    const current = run.ctx && stepSoFar(run.ctx.progress);
    const writtenAt = run.ctx?.landing.writtenAt ?? 0;
    if (current !== undefined && this.#sent?.start.messageId !== current.start.messageId) this.#sent = new ShownStep(current.start);
    const events = current === undefined ? [] : [...(this.#sent?.advance(current) ?? [])];
    const passing = this.#passing;
    this.#passing = [];
    for (const filling of pack(events, passing)) {
      const body = toBody({ type: "events", runId: run.runId, writtenAt, by, n: this.#count++, ...filling });
      if (body !== undefined) send(body);
    }
  }
}
