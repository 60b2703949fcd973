import { type AgentEvent, EVENT_TABLE, type EventStage, type Schema, validateSync } from "@awaken/contract";

/** The broken promise, in words, with the place where it broke. */
export class EventOrderError extends Error {
  override readonly name = "EventOrderError";
}

type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** Order inside a step: a later group never goes back to an earlier one. Others may come anywhere in the run, or have rules of their own. */
const ORDER: Readonly<Record<EventStage, number | undefined>> = {
  run: undefined,
  step: undefined,
  stream: 1,
  ready: 2,
  "inference-end": 3,
  round: 4,
  snapshot: 5,
  between: undefined,
  anywhere: undefined,
  outside: undefined,
};
const INFERENCE_END = ORDER["inference-end"] ?? 0;

interface Step {
  readonly number: number;
  stage: number;
  /** Calls that were announced, in the order of declaration. */
  readonly started: Set<string>;
  /** Calls that have come whole, in order. */
  readonly ready: string[];
  /** Those of them that are over, or wait. */
  readonly completed: Set<string>;
  /** One of them waits: those behind it may be held. */
  isWaiting: boolean;
}

/** Follows the events of one run and throws at the first that breaks an ordering guarantee. */
export class EventChecker {
  #count = 0;
  #last: AgentEvent["type"] | undefined;
  #runId: string | undefined;
  #step: Step | undefined;
  /** A step asked for tools and ran none: then it was the last one. */
  #mustEnd = false;
  #lastStep = 0;
  #isRunning = false;
  #isOver = false;
  readonly #tickets = new Set<string>();
  /** Runs that were heard of before this one began. */
  readonly #below = new Set<string>();
  /** Calls of this stream that have their last result. */
  readonly #answered = new Set<string>();

  /** Takes the next event; throws `EventOrderError` when it may not come now. */
  see(event: AgentEvent): void {
    this.#count += 1;
    this.#checkShape(event);
    if (EVENT_TABLE[event.type].stage === "outside") {
      if (this.#isRunning) this.#fail(event, "is inside a run");
      return;
    }
    if (this.#isOver) this.#fail(event, "comes after the terminal event");
    this.#take(event);
    this.#last = event.type;
  }

  /** Call when the run is over. */
  end(): void {
    if (!this.#isOver) throw new EventOrderError(`no terminal event after ${this.#count} events`);
  }

  #take(event: AgentEvent): void {
    switch (event.type) {
      case "run-start":
        this.#seeRunStart(event);
        return;
      case "run-end":
        this.#seeRunEnd(event);
        return;
      case "step-start":
        this.#seeStepStart(event);
        return;
      case "step-end":
        this.#seeStepEnd(event);
        return;
      default:
        if (!this.#isRunning && !this.#isBelow(event)) this.#fail(event, "is outside the run");
        if (!this.#isOfOthers(event)) this.#seeStage(event);
        this.#seeCall(event);
    }
  }

  /** Of tickets of runs below it a run is told also while it waits. */
  #isBelow(event: AgentEvent): boolean {
    if (event.type !== "ticket-open" && event.type !== "decision-taken") return false;
    const asking = event.type === "ticket-open" ? event.ticket.runId : event.runId;
    this.#below.add(asking);
    return asking !== this.#runId;
  }

  /** Another run asks whenever it does, also inside of an answer. */
  #isOfOthers(event: AgentEvent): boolean {
    return event.type === "ticket-open" && event.ticket.runId !== this.#runId;
  }

  #checkShape(event: AgentEvent): void {
    const schema: Schema | undefined = EVENT_TABLE[event.type]?.schema;
    const checked = schema === undefined ? undefined : validateSync(schema, event);
    if (checked === undefined) this.#fail(event, "is of no known type");
    if (checked.type === "invalid") this.#fail(event, `is not what its type says: ${checked.message}`);
  }

  #fail(event: AgentEvent, why: string): never {
    throw new EventOrderError(`event ${this.#count} (${event.type}) ${why}`);
  }

  #seeRunStart(event: EventOf<"run-start">): void {
    if (this.#isRunning) this.#fail(event, "comes twice");
    if (this.#runId !== undefined && this.#runId !== event.runId) this.#fail(event, `is of another run than ${this.#runId}`);
    if (this.#below.has(event.runId)) this.#fail(event, "comes after what was told of its own tickets");
    this.#runId = event.runId;
    this.#isRunning = true;
  }

  #seeRunEnd(event: EventOf<"run-end">): void {
    if (!this.#isRunning) this.#fail(event, "ends a run that has not begun");
    if (this.#step !== undefined) this.#fail(event, "leaves a step open");
    if (this.#runId !== event.runId) this.#fail(event, `is of another run than ${this.#runId}`);
    if (this.#last !== "state-snapshot") this.#fail(event, "has no state-snapshot right before it");
    this.#isRunning = false;
    this.#isOver = true;
  }

  #seeStepStart(event: EventOf<"step-start">): void {
    if (this.#mustEnd) this.#fail(event, "follows a step whose calls were not run");
    if (!this.#isRunning || this.#step !== undefined) this.#fail(event, "opens inside an open step, or outside the run");
    if (event.step !== this.#lastStep + 1 && this.#lastStep !== 0) this.#fail(event, `is not the step after ${this.#lastStep}`);
    this.#lastStep = event.step;
    this.#step = { number: event.step, stage: 0, started: new Set(), ready: [], completed: new Set(), isWaiting: false };
  }

  #seeStepEnd(event: EventOf<"step-end">): void {
    if (this.#step?.number !== event.step) this.#fail(event, "closes no open step");
    if (this.#last !== "state-snapshot") this.#fail(event, "has no state-snapshot right before it");
    const { ready, completed, isWaiting } = this.#step;
    const left = ready.filter((id) => !completed.has(id));
    if (completed.size > 0 && left.length > 0 && !isWaiting) this.#fail(event, `leaves calls without a completion: ${left.join(", ")}`);
    this.#mustEnd = left.length > 0;
    this.#step = undefined;
  }

  #seeStage(event: AgentEvent): void {
    const { stage: name } = EVENT_TABLE[event.type];
    if (name === "between" && this.#step !== undefined) this.#fail(event, "is inside a step");
    const stage = ORDER[name];
    if (stage === undefined) return;
    if (this.#step === undefined) {
      if (stage <= INFERENCE_END) this.#fail(event, "is outside a step");
      return;
    }
    if (stage < this.#step.stage) this.#fail(event, "comes too late in its step");
    if (stage === INFERENCE_END && this.#step.stage === stage) this.#fail(event, "comes twice in a step");
    if (event.type === "tool-call-end" && this.#step.stage < INFERENCE_END) this.#fail(event, "comes before the inference has ended");
    this.#step.stage = stage;
  }

  #seeCall(event: AgentEvent): void {
    switch (event.type) {
      case "tool-call-start":
        this.#answered.delete(event.toolCallId);
        // Anew after a reset: then it is declared here.
        this.#step?.started.delete(event.toolCallId);
        this.#step?.started.add(event.toolCallId);
        return;
      case "tool-call-delta":
        if (!this.#step?.started.has(event.toolCallId)) this.#fail(event, "comes before its start");
        return;
      case "stream-reset":
        this.#step?.started.clear();
        return;
      case "tool-call-ready":
        this.#seeReady(event);
        return;
      case "tool-call-stream-delta":
        if (this.#answered.has(event.toolCallId)) this.#fail(event, "comes after the end of its call");
        return;
      case "tool-call-end":
        this.#seeEnd(event);
        return;
      case "ticket-open":
        if (this.#tickets.has(event.ticket.id)) this.#fail(event, "comes twice");
        this.#tickets.add(event.ticket.id);
        return;
      case "tool-call-resumed":
        if (this.#step !== undefined) this.#fail(event, "is inside a step");
        this.#closeCall(event, event.toolCallId);
        return;
      default:
        return;
    }
  }

  /** Calls come whole in the order in which they were declared; those that were cancelled are passed over. */
  #seeReady(event: EventOf<"tool-call-ready">): void {
    const started = this.#step?.started;
    if (this.#step?.ready.at(-1) === event.toolCallId) this.#fail(event, "comes twice");
    if (!started?.has(event.toolCallId)) this.#fail(event, "comes twice, before its start, or out of order");
    for (const id of started) {
      started.delete(id);
      if (id === event.toolCallId) break;
    }
    this.#step?.ready.push(event.toolCallId);
  }

  /** Each call of a step has one completion; a resumed call may only be suspended again. */
  #seeEnd(event: EventOf<"tool-call-end">): void {
    const { toolCallId, outcome } = event;
    if (this.#step === undefined) {
      if (outcome !== "suspended") this.#fail(event, "is outside a step and no new suspension");
      if (this.#answered.has(toolCallId)) this.#fail(event, "suspends a call that is over");
      return;
    }
    const { ready, completed } = this.#step;
    if (!ready.includes(toolCallId)) this.#fail(event, "is the completion of a call that did not come");
    if (completed.has(toolCallId)) this.#fail(event, "is the second completion of its call");
    completed.add(toolCallId);
    if (outcome === "suspended") this.#step.isWaiting = true;
    else this.#closeCall(event, toolCallId);
  }

  #closeCall(event: AgentEvent, id: string): void {
    if (this.#answered.has(id)) this.#fail(event, "is the second result of its call");
    this.#answered.add(id);
  }
}

/** Checks a whole list. */
export function checkEvents(events: readonly AgentEvent[]): void {
  const checker = new EventChecker();
  for (const event of events) checker.see(event);
  checker.end();
}
