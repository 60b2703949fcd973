import type { AgentEvent, Message, Ticket } from "@awaken/contract";
import { activityChunks } from "./activity.ts";
import { Calls } from "./calls.ts";
import type { Chunk, Dialect } from "./chunk.ts";
import { closingOf } from "./closing.ts";
import { Parts } from "./parts.ts";
import type { EventOf } from "./shown-calls.ts";
import { partsOf } from "./user-parts.ts";

/** A change in what is sent is another version. */
export const AI_SDK_ENCODER_VERSION = 2;

export interface EncoderInit {
  readonly dialect: Dialect;
  /** The tools that the page runs, when that is known: from the first chunk of a call it is said who runs it. */
  readonly frontendTools?: readonly string[];
}

const isForPeople = ({ role, visibility }: Message): boolean => role === "user" && visibility !== "internal";

/**
 * Events of one run or thread as the parts of UI messages: one message for each answer, which goes on when the run does. It knows nothing but
 * the events, so the same ones give the same parts.
 */
export class AiSdkEncoder {
  readonly #dialect: Dialect;
  readonly #calls: Calls;
  readonly #parts: Parts;
  #run: EventOf<"run-start"> | undefined;
  #messageId: string | undefined;
  #answers = 0;
  /** `start` was said on this stream. */
  #isStarted = false;
  /** Whoever reads has the message up to here. */
  #isRejoined = false;
  #isOver = true;
  /** The run began or went on after an end, and has made no step since. */
  #isFresh = false;
  #out: Chunk[] = [];

  constructor({ dialect, frontendTools }: EncoderInit) {
    this.#dialect = dialect;
    const say = (chunk: Chunk) => this.#say(chunk);
    this.#parts = new Parts(say);
    this.#calls = new Calls(dialect, frontendTools, { say, start: () => this.#start() });
  }

  /** The id of the message that is being shown, once that is known. */
  get messageId(): string | undefined {
    return this.#messageId;
  }

  /** Nothing is being said: the run ended, waits, or has not begun. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** How many messages were begun. */
  get answers(): number {
    return this.#answers;
  }

  /** From here on it is another stream, to somebody who has the message as it is. */
  rejoin(): void {
    this.#isStarted = false;
    this.#isRejoined = true;
  }

  encode(event: AgentEvent): readonly Chunk[] {
    this.#out = [];
    if (!this.#isOver || event.type === "run-start") this.#take(event);
    return this.#out;
  }

  /** From here on it is another stream, to somebody who has the message, but not what became of these calls: the beginning of it. */
  recall(toolCallIds: readonly string[]): readonly Chunk[] {
    this.#out = [];
    this.rejoin();
    const outcomes = toolCallIds.flatMap((id) => [...this.#calls.outcomeOf(id)]);
    if (outcomes.length > 0) this.#start();
    for (const chunk of outcomes) this.#say(chunk);
    return this.#out;
  }

  /** The same, when nothing will come after it: the whole of a stream. */
  repeat(toolCallIds: readonly string[]): readonly Chunk[] {
    this.recall(toolCallIds);
    this.#start();
    this.#say({ type: "start-step" });
    this.#say({ type: "finish-step" });
    this.#say({ type: "finish", finishReason: "stop" });
    return this.#out;
  }

  /** A run below waits again, and the one that is shown did not go on: it is as it was, with what is asked now. */
  wait(tickets: readonly Ticket[]): readonly Chunk[] {
    this.#out = [];
    this.#start();
    for (const ticket of tickets) this.#calls.askBelow(ticket);
    this.#say({ type: "finish", finishReason: "tool-calls" });
    this.#isOver = true;
    return this.#out;
  }

  /** The events broke off. */
  fail(errorText: string): readonly Chunk[] {
    this.#out = [];
    this.#start();
    this.#parts.closeStep();
    this.#say({ type: "error", errorText });
    this.#say({ type: "finish", finishReason: "error" });
    this.#isOver = true;
    return this.#out;
  }

  #say(chunk: Chunk): void {
    this.#out.push(chunk);
  }

  #take(event: AgentEvent): void {
    switch (event.type) {
      case "run-start":
        this.#begin(event);
        return;
      case "input-accepted":
        this.#accept(event.messages.filter(isForPeople));
        return;
      case "step-start":
        this.#startStep(event);
        return;
      case "step-end":
        this.#parts.closeStep();
        return;
      case "text-delta":
        this.#parts.text(event.delta);
        return;
      case "reasoning-delta":
        this.#parts.reasoning(event.delta);
        return;
      case "reasoning-encrypted-value":
        this.#parts.encrypted(event.encryptedValue);
        return;
      case "tool-call-start":
      case "tool-call-ready":
        this.#parts.closeWords();
        this.#parts.touch();
        this.#calls.take(event);
        return;
      case "tool-call-delta":
      case "tool-call-stream-delta":
      case "tool-call-end":
      case "tool-call-cancel":
        this.#calls.take(event);
        return;
      case "tool-call-resumed":
        this.#calls.resume(event);
        return;
      case "decision-taken":
        this.#calls.decide(event);
        return;
      case "ticket-open":
        if (this.#isBelow(event.ticket)) this.#calls.askBelow(event.ticket);
        return;
      case "stream-reset":
        this.#reset(event.reason);
        return;
      case "child-start":
      case "child-end":
        this.#child(event);
        return;
      case "run-end":
        this.#end(event);
        return;
      default:
        for (const chunk of activityChunks(event)) this.#say(chunk);
    }
  }

  /** A run in the background of one before may ask meanwhile, too: no call of this message waits for it. */
  #isBelow({ runId, rootRunId }: Ticket): boolean {
    if (this.#run === undefined || runId === this.#run.runId) return false;
    return rootRunId === undefined || rootRunId === (this.#run.identity.rootRunId ?? this.#run.runId);
  }

  #begin(event: EventOf<"run-start">): void {
    // A run that another process took over goes on in the middle of what it said.
    this.#isFresh = this.#isOver;
    this.#run = event;
    this.#isOver = false;
    if (!event.resumed && this.#isFresh) this.#newAnswer();
    else this.#messageId ??= event.answerId;
  }

  /** What is said from here on is a message of its own. */
  #newAnswer(): void {
    this.#answers += 1;
    this.#messageId = undefined;
    this.#isStarted = false;
    this.#isRejoined = false;
    this.#calls.newMessage();
    this.#parts.newMessage();
  }

  #accept(messages: readonly Message[]): void {
    if (messages.length === 0) return;
    const isHeard = this.#isRejoined && this.#isStarted;
    if (this.#isFresh && !isHeard) {
      if (this.#messageId !== undefined) this.#newAnswer();
      return;
    }
    if (this.#dialect === 6) return;
    this.#start();
    this.#parts.closeWords();
    for (const message of messages) this.#say({ type: "steering-message", id: message.id, parts: partsOf(message.content) });
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const id = this.#messageId;
    const named = id === undefined ? undefined : { messageId: id };
    if (this.#run === undefined) {
      this.#say({ type: "start", ...named, messageMetadata: {} });
      return;
    }
    const { runId, threadId, identity } = this.#run;
    this.#say({ type: "start", ...named, messageMetadata: { threadId, runId, agentId: identity.agentId } });
    this.#say({ type: "data-run-info", data: { runId, threadId }, transient: true });
  }

  #startStep({ messageId }: EventOf<"step-start">): void {
    this.#messageId ??= messageId;
    this.#isFresh = false;
    this.#start();
    this.#parts.openStep(messageId);
  }

  #reset(reason: string): void {
    if (this.#dialect === 7) {
      if (!this.#parts.isStepOpen) return;
      this.#parts.forget();
      this.#say({ type: "reset-step" });
      this.#calls.reset(reason);
      return;
    }
    this.#parts.closeWords();
    this.#calls.reset(reason);
    this.#say({ type: "data-stream-reset", data: { reason }, transient: true });
  }

  #child(event: EventOf<"child-start" | "child-end">): void {
    this.#calls.child(event);
    this.#start();
    const { runId, threadId, agentId, toolCallId } = event;
    const status = event.type === "child-start" ? "running" : event.outcome.status;
    const data = { runId, threadId, agentId, status, ...(toolCallId === undefined ? undefined : { toolCallId }) };
    this.#say({ type: "data-child-run", id: runId, data });
  }

  #end(event: EventOf<"run-end">): void {
    this.#start();
    this.#parts.closeWords();
    for (const ticket of event.tickets) if (ticket.runId !== event.runId) this.#calls.askBelow(ticket);
    const closing = closingOf(event, this.#dialect);
    if (event.termination.type !== "suspended") this.#calls.giveUpAll(closing.forCalls);
    // Whoever answered and sees no new step would send the answer again.
    if (this.#isFresh && this.#messageId !== undefined && !this.#calls.isAnyOpen) this.#parts.openStep(this.#messageId);
    this.#parts.closeStep();
    for (const chunk of closing.chunks) this.#say(chunk);
    this.#isOver = true;
    this.#isFresh = false;
  }
}
