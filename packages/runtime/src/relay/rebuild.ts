import type { AgentEvent, Message, MessageId, RunId, Ticket } from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";
import type { StreamFact } from "../loop/step-progress.ts";
import { BegunChildren, type Held } from "./begun-children.ts";
import { answerIn, isOwn, startOf, turnsOf, withCalls } from "./commit-facts.ts";
import { KnownTickets } from "./known-tickets.ts";
import type { LiveStep } from "./live-event.ts";
import type { Passing, Scene } from "./passing.ts";
import { type FactSources, readFact } from "./read-fact.ts";
import type { Commit } from "./read-log.ts";
import { partsOf, ShownStep } from "./show-step.ts";

type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** Where a reader stands in a run. */
export type Position =
  /** Between steps, or in the round of one. */
  | {
      readonly type: "running";
      /** The last step whose turn was told. */
      readonly step: number;
      /** Calls of that step without an end; undefined when the step is over. */
      readonly pending: number | undefined;
    }
  /** It goes on behind this step. */
  | { readonly type: "waiting"; readonly step: number }
  /** It came to its end, and is followed alone: nothing comes behind that. */
  | { readonly type: "over" }
  | { readonly type: "none" };

/** A turn of a commit while its facts are gathered. */
interface Turn {
  readonly facts: StreamFact[];
  readonly ready: EventOf<"tool-call-ready">[];
}

/** Only a run that is under way says so. */
const OF_A_STEP: ReadonlySet<AgentEvent["type"]> = new Set<AgentEvent["type"]>([
  ...(["stream-reset", "tool-call-ready", "tool-call-cancel", "inference-end"] as const),
  ...(["tool-call-end", "tool-call-resumed", "child-start", "run-retry"] as const),
]);

const TAKEN_OVER = "another process has taken the run over";

/**
 * Makes what listeners hear of what the log keeps: facts as they were, text as one delta. What a step has shown while it was not on record
 * is gone on with when it is.
 */
export class Rebuild {
  readonly #tickets = new KnownTickets();
  /** What only listeners hear: that of a round is told once its turn is, and that of a call before its end. */
  readonly #passing: Passing;
  /** A run is followed alone: what runs below it say behind its end is told on its thread. */
  readonly #isAlone: boolean;
  #run: RunId | undefined;
  #done: RunId | undefined;
  #step = 0;
  /** The log begins in the middle of a run, and nothing yet said in which step. */
  #isCut = true;
  /** A run has begun, or goes on, and has neither ended nor come to wait. Of one that a reader left, its commits say which one it is. */
  #isUnderWay = false;
  /** The log told neither of a start nor of an end yet. */
  #isAmid = true;
  /** `updatedAt` of the record of the run that is under way, as it was read last. */
  #writtenAt = 0;
  #pending: number | undefined;
  /** Nothing was told of a step since the run has begun, or gone on. */
  #isOpening = true;
  /** Calls of the last step, or of before the first, that have their result. */
  readonly #answered = new Set<string>();
  #shown: ShownStep | undefined;
  #turn: Turn | undefined;
  /** Its own tickets, when it is leaving: they are shown when it has left, so that whoever decides finds it waiting. */
  #held: StoredEvent[] = [];
  readonly #children = new BegunChildren();
  /** Decisions are on record before the run goes on with them: they are told when it does. */
  #early: AgentEvent[] = [];
  #isDone = false;
  #told: AgentEvent[] = [];

  constructor(passing: Passing, isAlone: boolean) {
    this.#passing = passing;
    this.#isAlone = isAlone;
  }

  /** The run that is under way, as far as the reader knows. */
  get run(): RunId | undefined {
    return this.#run;
  }

  /** The run that is followed alone came to its end. */
  get isOver(): boolean {
    return this.#isAlone && this.#isDone;
  }

  /** Undefined while something is held back: a reader that came back here would miss it. */
  get position(): Position | undefined {
    if (this.#held.length + this.#early.length > 0 || this.#children.isHolding) return undefined;
    if (this.#isUnderWay) return { type: "running", step: this.#step, pending: this.#pending };
    if (this.isOver) return { type: "over" };
    return this.#isDone ? { type: "none" } : { type: "waiting", step: this.#step };
  }

  /** A reader goes on. */
  restore(runId: RunId | undefined, position: Position, writtenAt: number): void {
    this.#writtenAt = writtenAt;
    this.#isDone = position.type === "over";
    if (position.type === "none" || position.type === "over") return;
    this.#step = position.step;
    this.#isCut = false;
    if (position.type === "waiting") return;
    this.#run = runId;
    this.#isUnderWay = true;
    this.#pending = position.pending;
  }

  get #scene(): Scene {
    return {
      ...{ run: this.#run, done: this.#done, step: this.#step, pending: this.#pending, shown: this.#shown?.start.step },
      isOpening: this.#isOpening,
      isCallOver: (id) => this.#answered.has(id),
    };
  }

  /** What only listeners hear and may be told now. */
  pass(): readonly AgentEvent[] {
    return this.#passing.take(this.#scene);
  }

  /** An answer is being told that is not on record. */
  get isTelling(): boolean {
    return this.#shown !== undefined;
  }

  isShowing(messageId: MessageId): boolean {
    return this.#shown?.start.messageId === messageId;
  }

  /** Open tickets that the reader has not heard of. */
  unknownTickets(open: readonly Ticket[]): readonly Ticket[] {
    return this.#tickets.unknown(open, [...this.#held, ...this.#children.held]);
  }

  /** Whether tickets wait until a run below is known to have begun. */
  get isHoldingBelow(): boolean {
    return this.#children.isHolding;
  }

  /** At the end of the log: those that have waited for long enough, or wait for what may have been told before this reader came. */
  tellBelow(now: number): readonly AgentEvent[] {
    this.#told = [];
    this.#tellHeld(this.#children.takeDoubtful());
    this.#tellHeld(this.#children.takeOverdue(now));
    return this.#told;
  }

  /** A step that is not on record, as far as it came. The log was read since this was the case. That of an owner that was taken over from is not shown. */
  show({ runId, writtenAt, soFar }: LiveStep): readonly AgentEvent[] {
    const { start, facts, parts } = soFar;
    if (writtenAt < this.#writtenAt) return [];
    if (this.#run !== runId || this.#pending !== undefined || start.step <= this.#step) return [];
    const told: AgentEvent[] = [];
    if (this.#shown !== undefined && this.#shown.start.messageId !== start.messageId)
      told.push({ type: "stream-reset", reason: TAKEN_OVER });
    if (this.#shown?.start.messageId !== start.messageId) this.#shown = new ShownStep(start);
    return [...told, ...this.#shown.advance({ facts, parts })];
  }

  /** What a commit adds. */
  commit(commit: Commit): readonly AgentEvent[] {
    this.#told = [];
    if (this.#isBeside(commit)) {
      this.#tellAll(commit.events, commit);
      return this.#told;
    }
    this.#writtenAt = Math.max(this.#writtenAt, commit.run.updatedAt);
    for (const { kind, payload } of commit.events) if (kind.startsWith("run-")) this.#tickets.addAll(payload["tickets"]);
    this.#release(commit);
    const turns = turnsOf(commit);
    const sources = this.#sources(commit, turns);
    for (const fact of commit.events) this.#take(fact, commit, turns, sources);
    if (this.#turn !== undefined) this.#endTurn(undefined, commit, undefined);
    if (this.#pending !== undefined || !this.#isUnderWay) this.#release(commit);
    if (this.#children.isHolding && commit.events.some((fact) => isOwn(fact, commit))) this.#tellHeld(this.#children.takeDoubtful(commit));
    return this.#told;
  }

  /** Of runs below one that is over, or of its calls: it is told where it stands in the log, also while another run speaks. */
  #isBeside({ run, events }: Commit): boolean {
    if (this.#isAmid || !this.#isUnderWay || run.runId === this.#run) return false;
    return !events.some(({ kind }) => kind.startsWith("run-"));
  }

  #take(fact: StoredEvent, commit: Commit, turns: Message[], sources: FactSources): void {
    if (this.isOver) return;
    this.#tellHeld(this.#children.takeOverdue(fact.createdAt));
    const isTicket = fact.kind === "ticket-open";
    if (isTicket && isOwn(fact, commit)) {
      this.#hold(fact, commit);
      return;
    }
    const event = readFact(fact, sources);
    if (event === undefined) return;
    if (event.type !== "tool-call-end") this.#release(commit);
    if (isTicket) {
      if (!this.#children.holds(fact, commit)) this.#tell(fact, commit);
      return;
    }
    if (this.#isAmid && OF_A_STEP.has(event.type)) this.#goOnWith(commit.run.runId);
    switch (event.type) {
      case "stream-reset":
      case "tool-call-cancel":
        this.#openTurn().facts.push(event);
        return;
      case "tool-call-ready":
        this.#openTurn().ready.push(event);
        return;
      case "inference-end":
        this.#endTurn(turns.shift(), commit, event);
        return;
      case "tool-call-end":
        this.#endCall(event, event.outcome !== "suspended");
        if (this.#pending !== undefined) this.#pending -= 1;
        if (this.#pending === 0) this.#endStep();
        return;
      case "child-start":
        this.#told.push(event);
        this.#tellAll(this.#children.add(event), commit);
        return;
      case "run-start":
        this.#begin(event);
        this.#tellAll(this.#children.begin(event.resumed), commit);
        return;
      case "run-end":
        this.#end(event, commit);
        return;
      case "decision-taken":
        // Behind the ticket that it is about.
        this.#tellAll(this.#children.takeAll(), commit);
        if (!this.#isUnderWay && event.runId === commit.run.runId) this.#early.push(event);
        else this.#told.push(event);
        return;
      case "tool-call-resumed":
        this.#endStep();
        this.#endCall(event, true);
        return;
      case "run-retry":
        this.#endStep();
    }
    this.#told.push(event);
  }

  /** A ticket of its own is told when the run has left, or before it says anything but how its calls ended. */
  #hold(fact: StoredEvent, commit: Commit): void {
    this.#held.push(fact);
    if (!this.#isUnderWay) this.#release(commit);
  }

  /** Of all facts of a commit: the turn that one is of is the first of those that are left. */
  #sources(commit: Commit, turns: readonly Message[]): FactSources {
    const { run, message, lastWords } = commit;
    return { run, message, lastWords, turns, answer: (id) => answerIn(commit, id), ticket: (id) => this.#tickets.get(id) };
  }

  #openTurn(): Turn {
    if (this.#turn === undefined) this.#endStep();
    this.#turn ??= { facts: [], ready: [] };
    return this.#turn;
  }

  /** The reader came in the middle of it. */
  #goOnWith(runId: RunId): void {
    this.#run = runId;
    this.#isUnderWay = true;
    this.#told.push(...this.#early.splice(0));
  }

  #begin(event: EventOf<"run-start">): void {
    this.#isAmid = false;
    this.#endStep();
    if (this.#shown !== undefined) this.#told.push({ type: "stream-reset", reason: TAKEN_OVER });
    this.#shown = undefined;
    this.#passing.begin(event.runId, this.#run === event.runId);
    this.#isOpening = true;
    if (!event.resumed) {
      this.#answered.clear();
      this.#step = 0;
      this.#isCut = false;
      this.#tickets.clear();
    }
    this.#run = event.runId;
    this.#isUnderWay = true;
    this.#isDone = false;
    this.#told.push(event, ...this.#early.splice(0));
  }

  #end(event: EventOf<"run-end">, commit: Commit): void {
    this.#endStep();
    this.#isAmid = false;
    this.#shown = undefined;
    this.#run = undefined;
    this.#isUnderWay = false;
    this.#isDone = event.result.status !== "waiting";
    this.#done = this.#isDone ? event.runId : undefined;
    this.#tellAll(this.#children.takeAll(), commit);
    // A run that waits can be ended without going on, whatever was decided by then.
    this.#told.push(...this.#early.splice(0), ...this.#passing.end(event.runId, this.#isDone), event);
  }

  /** A turn is told as a step is: from its start to the end of the inference. Without one there was nothing to keep of what was said. */
  #endTurn(turn: Message | undefined, { run }: Commit, end: EventOf<"inference-end"> | undefined): void {
    const { facts, ready } = this.#openTurn();
    this.#turn = undefined;
    // One in which nothing was said is the last of its run.
    const step = turn?.metadata?.stepIndex ?? (this.#isCut ? run.steps - 1 : this.#step);
    const shown = this.#shown;
    const isShown = shown !== undefined && (turn === undefined || shown.start.messageId === turn.id);
    if (shown !== undefined && !isShown) this.#told.push({ type: "stream-reset", reason: TAKEN_OVER });
    const own = isShown ? shown : new ShownStep(startOf(step + 1, turn, run));
    this.#told.push(...own.advance({ facts, parts: withCalls(turn === undefined ? [] : partsOf(turn), ready) }), ...ready);
    this.#shown = undefined;
    this.#isCut = false;
    this.#step = own.start.step;
    this.#pending = ready.length;
    this.#isOpening = false;
    this.#answered.clear();
    if (end === undefined) return;
    this.#told.push(end, ...this.#passing.take(this.#scene, (_, of) => of === this.#step));
    if (ready.length === 0) this.#endStep();
  }

  /** What it said of itself comes before. */
  #endCall(event: EventOf<"tool-call-end" | "tool-call-resumed">, isAnswered: boolean): void {
    const { toolCallId: id } = event;
    this.#told.push(...this.#passing.take(this.#scene, (said) => "toolCallId" in said && said.toolCallId === id), event);
    if (isAnswered) this.#answered.add(id);
  }

  #endStep(): void {
    if (this.#pending === undefined) return;
    this.#pending = 0;
    this.#told.push(...this.pass());
    this.#pending = undefined;
    this.#told.push({ type: "step-end", step: this.#step });
  }

  #release(commit: Commit): void {
    this.#tellAll(this.#held.splice(0), commit);
  }

  #tellHeld(held: readonly Held[]): void {
    for (const { fact, commit } of held) this.#tell(fact, commit);
  }

  #tellAll(facts: readonly StoredEvent[], commit: Commit): void {
    for (const fact of facts) this.#tell(fact, commit);
  }

  /** As it is. */
  #tell(fact: StoredEvent, commit: Commit): void {
    const event = readFact(fact, this.#sources(commit, NO_TURNS));
    if (event !== undefined) this.#told.push(event);
    if (event?.type === "ticket-open") this.#tickets.tell(event.ticket);
  }
}

const NO_TURNS: readonly never[] = Object.freeze([]);
