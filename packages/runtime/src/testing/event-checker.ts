import type { AgentEvent } from "@awaken/contract";

/** The broken promise, in words, with the place where it broke. */
export class EventOrderError extends Error {
  override readonly name = "EventOrderError";
}

type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** Order inside a step: a later group never goes back to an earlier one. */
const STAGES: Partial<Record<AgentEvent["type"], number>> = {
  "text-delta": 1,
  "reasoning-delta": 1,
  "reasoning-encrypted-value": 1,
  "tool-call-start": 1,
  "tool-call-delta": 1,
  "tool-call-cancel": 1,
  "stream-reset": 1,
  "tool-call-ready": 1,
  "inference-end": 2,
  "tool-call-end": 3,
  "state-snapshot": 4,
};

/** Follows the events of one run and throws at the first that breaks an ordering guarantee. */
export class EventChecker {
  #count = 0;
  #step: { readonly number: number; stage: number; readonly started: Set<string>; readonly ready: string[]; completed: number } | undefined;
  /** A step asked for tools and ran none: then it was the last one. */
  #mustEnd = false;
  #lastStep = 0;
  #isRunning = false;
  /** It waits in memory: it goes on with a new `run-start`, or ends right here. */
  #isPaused = false;
  #isOver = false;
  readonly #open = new Set<string>();

  see(event: AgentEvent): void {
    this.#count += 1;
    if (this.#isOver) this.#fail(event, "comes after the terminal event");
    switch (event.type) {
      case "run-start":
        if (this.#isRunning) this.#fail(event, "comes twice");
        this.#isRunning = true;
        this.#isPaused = false;
        return;
      case "run-end":
        this.#seeRunEnd(event);
        return;
      case "step-start":
        if (this.#mustEnd) this.#fail(event, "follows a step whose calls were not run");
        if (!this.#isRunning || this.#step !== undefined) this.#fail(event, "opens inside an open step, or outside the run");
        if (event.step !== this.#lastStep + 1 && this.#lastStep !== 0) this.#fail(event, `is not the step after ${this.#lastStep}`);
        this.#lastStep = event.step;
        this.#step = { number: event.step, stage: 0, started: new Set(), ready: [], completed: 0 };
        return;
      case "step-end":
        if (this.#step?.number !== event.step) this.#fail(event, "closes no open step");
        this.#closeStep(event);
        return;
      default:
        if (!this.#isRunning && !(this.#isPaused && event.type === "state-snapshot")) this.#fail(event, "is outside the run");
        this.#seeStage(event);
        this.#seeCall(event);
    }
  }

  /** Call when the run is over. */
  end(): void {
    if (!this.#isOver) throw new EventOrderError(`no terminal event after ${this.#count} events`);
  }

  #fail(event: AgentEvent, why: string): never {
    throw new EventOrderError(`event ${this.#count} (${event.type}) ${why}`);
  }

  /** Without a result it is only a pause: the run goes on in the same stream. */
  #seeRunEnd(event: EventOf<"run-end">): void {
    if (!this.#isRunning && !this.#isPaused) this.#fail(event, "ends a run that has not begun");
    if (this.#step !== undefined) this.#fail(event, "leaves a step open");
    this.#isRunning = false;
    this.#isPaused = event.result === undefined;
    this.#isOver = !this.#isPaused;
    if (this.#isPaused && event.termination.type !== "suspended") this.#fail(event, "has no result");
  }

  #closeStep(event: AgentEvent): void {
    if (this.#open.size > 0) {
      if (this.#step !== undefined && this.#step.completed > 0) {
        this.#fail(event, `leaves calls without a completion: ${[...this.#open].join(", ")}`);
      }
      this.#mustEnd = true;
      this.#open.clear();
    }
    this.#step = undefined;
  }

  #seeStage(event: AgentEvent): void {
    const stage = STAGES[event.type];
    if (stage === undefined || this.#step === undefined) {
      if (stage !== undefined && stage < 3) this.#fail(event, "is outside a step");
      return;
    }
    if (stage < this.#step.stage) this.#fail(event, "comes too late in its step");
    this.#step.stage = stage;
  }

  #seeCall(event: AgentEvent): void {
    switch (event.type) {
      case "tool-call-start":
        this.#step?.started.add(event.toolCallId);
        return;
      case "tool-call-delta":
        if (!this.#step?.started.has(event.toolCallId)) this.#fail(event, "comes before its start");
        return;
      case "tool-call-ready":
        if (this.#step?.ready.includes(event.toolCallId)) this.#fail(event, "comes twice");
        this.#step?.ready.push(event.toolCallId);
        this.#open.add(event.toolCallId);
        return;
      case "tool-call-end":
        this.#seeEnd(event);
        return;
      case "tool-call-resumed":
        if (this.#step !== undefined) this.#fail(event, "is inside a step");
        return;
      default:
        return;
    }
  }

  /** Completions of a step come in the order in which the calls were declared; a resumed call may only be suspended again. */
  #seeEnd(event: EventOf<"tool-call-end">): void {
    if (this.#step === undefined) {
      if (event.outcome !== "suspended") this.#fail(event, "is outside a step and no new suspension");
      return;
    }
    const next = this.#step.ready.find((id) => this.#open.has(id));
    if (next !== event.toolCallId) this.#fail(event, `is not the completion of the next open call (${next ?? "none"})`);
    this.#open.delete(event.toolCallId);
    this.#step.completed += 1;
  }
}

/** Checks a whole list. */
export function checkEvents(events: readonly AgentEvent[]): void {
  const checker = new EventChecker();
  for (const event of events) checker.see(event);
  checker.end();
}
