import { type AgentEvent, isJsonObject, type JsonObject, type Message, messageText, type Ticket } from "@awaken/contract";
import { Calls } from "./calls.ts";
import { AG_UI_VERSION, type AgUiDialect, type AgUiFrame, type AgUiMessage } from "./frame.ts";
import { interruptOf, isFrontendCall } from "./interrupts.ts";
import { Kept } from "./kept.ts";
import { Tokens } from "./tokens.ts";
import { Words } from "./words.ts";

type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** A change in what is sent is another version. */
export const AG_UI_ENCODER_VERSION = 3;

export interface AgUiEncoderInit {
  readonly dialect: AgUiDialect;
}

export interface AgUiStreamInit {
  /** The id that the client gave to this request; else that of the run. */
  readonly runId?: string;
  /** What the client has, or should have: what it lacks is not known to it. */
  readonly messages?: readonly AgUiMessage[];
  /** The client has made up messages of its own: it is given those that there are first. */
  readonly isAnew?: boolean;
}

const isForPeople = ({ role, visibility }: Message): boolean => role === "user" && visibility !== "internal";

/** Events of one run as those of AG-UI, one stream for each time that the run goes on. It knows nothing but the events, and what the client has. */
export class AgUiEncoder {
  readonly #dialect: AgUiDialect;
  readonly #calls: Calls;
  readonly #kept = new Kept();
  readonly #children = new Map<string, EventOf<"child-start" | "child-end">>();
  readonly #openChildren = new Set<string>();
  readonly #tokens = new Tokens();
  readonly #words: Words;
  #clientRunId: string | undefined;
  #step: string | undefined;
  #stepId = "";
  #isOver = true;
  #isFresh = false;
  #out: AgUiFrame[] = [];

  constructor({ dialect }: AgUiEncoderInit) {
    this.#dialect = dialect;
    const say = (frame: AgUiFrame) => this.#say(frame);
    this.#words = new Words(say);
    const stepId = () => this.#stepId;
    this.#calls = new Calls(dialect, this.#kept, {
      words: this.#words,
      get stepId() {
        return stepId();
      },
      say,
      keepTurn: () => this.#keepTurn(),
    });
  }

  /** Nothing is being said: the run ended, waits, or has not begun. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** From here on it is the stream of another request. */
  begin({ runId, messages = [], isAnew = false }: AgUiStreamInit): void {
    this.#clientRunId = runId;
    this.#kept.begin(messages, isAnew);
  }

  encode(event: AgentEvent): readonly AgUiFrame[] {
    this.#out = [];
    if (!this.#isOver || event.type === "run-start") this.#take(event);
    return this.#out;
  }

  /** A run below waits again, and the one that is shown did not go on. Or nothing came at all, and what there is is as it was. */
  settle(run: { readonly threadId: string; readonly runId: string }, tickets: readonly Ticket[]): readonly AgUiFrame[] {
    this.#out = [];
    const ids = { threadId: run.threadId, runId: this.#clientRunId ?? run.runId };
    const isAlone = this.#isOver;
    if (isAlone) this.#started(ids, run.runId);
    this.#finishWaiting(ids, tickets, { runId: run.runId, isTold: isAlone && this.#kept.isTold });
    this.#isOver = true;
    return this.#out;
  }

  /** The events broke off. */
  fail(message: string, code?: string): readonly AgUiFrame[] {
    this.#out = [];
    if (!this.#isOver) this.#close("the stream broke off");
    this.#say({ type: "RUN_ERROR", message, ...(code === undefined ? undefined : { code }) });
    this.#isOver = true;
    return this.#out;
  }

  #say(frame: AgUiFrame): void {
    this.#out.push(frame);
  }

  #take(event: AgentEvent): void {
    switch (event.type) {
      case "run-start":
        this.#begin(event);
        break;
      case "input-accepted":
        this.#accept(event.messages.filter(isForPeople));
        break;
      case "step-start":
        this.#startStep(event);
        break;
      case "step-end":
        this.#endStep();
        break;
      case "text-delta":
        this.#words.text(event.delta);
        break;
      case "reasoning-delta":
        this.#words.reasoning(event.delta);
        break;
      case "reasoning-encrypted-value":
        this.#words.encrypted(event.encryptedValue);
        break;
      case "inference-end":
        this.#tokens.add(event.provider, event.model, event.usage);
        break;
      case "stream-reset":
        this.#reset();
        break;
      case "state-snapshot":
        if (Object.keys(event.snapshot.extensions).length > 0) this.#say({ type: "STATE_SNAPSHOT", snapshot: event.snapshot.extensions });
        break;
      case "activity-snapshot":
        this.#activity(event);
        break;
      case "child-start":
      case "child-end":
        this.#child(event);
        break;
      case "run-end":
        this.#end(event);
        break;
      default:
        this.#calls.take(event);
    }
  }

  #begin(event: EventOf<"run-start">): void {
    // A run that another process took over goes on in the stream that it is told in.
    this.#isFresh = this.#isOver;
    if (!this.#isOver) return;
    this.#isOver = false;
    this.#tokens.clear();
    const { threadId, runId } = event;
    this.#started({ threadId, runId: this.#clientRunId ?? runId }, runId);
  }

  #started(ids: { readonly threadId: string; readonly runId: string }, runId: string): void {
    const version = this.#dialect === "1.0" ? { protocolVersion: AG_UI_VERSION, metadata: { runId } } : undefined;
    this.#say({ type: "RUN_STARTED", ...ids, ...version });
    if (this.#kept.isTold) this.#say({ type: "MESSAGES_SNAPSHOT", messages: this.#kept.messages });
  }

  /** What somebody said while the run goes on; what it began with, the client has. */
  #accept(messages: readonly Message[]): void {
    for (const message of messages) {
      const content = messageText(message);
      this.#kept.keep({ id: message.metadata?.clientId ?? message.id, role: "user", content });
      if (this.#isFresh || content === "") continue;
      this.#words.close();
      const messageId = message.id;
      this.#say({ type: "TEXT_MESSAGE_START", messageId, role: "user" });
      this.#say({ type: "TEXT_MESSAGE_CONTENT", messageId, delta: content });
      this.#say({ type: "TEXT_MESSAGE_END", messageId });
    }
  }

  #startStep({ step, messageId }: EventOf<"step-start">): void {
    this.#isFresh = false;
    this.#stepId = messageId;
    if (this.#step !== undefined) this.#endStep();
    this.#step = `step_${step}`;
    this.#words.newStep(messageId);
    this.#say({ type: "STEP_STARTED", stepName: this.#step });
  }

  #endStep(): void {
    this.#words.close();
    this.#calls.closeInputs();
    this.#keepTurn();
    if (this.#step === undefined) return;
    this.#say({ type: "STEP_FINISHED", stepName: this.#step });
    this.#step = undefined;
  }

  /** What the step said is a message from now on. */
  #keepTurn(): void {
    for (const text of this.#words.take()) this.#kept.keep({ id: text.id, role: "assistant", content: text.text });
  }

  #activity({ messageId, activityType, content, replace }: EventOf<"activity-snapshot">): void {
    const body: JsonObject = isJsonObject(content) ? content : { value: content };
    const id = `activity_${activityType}_${messageId}`;
    this.#say({
      type: "ACTIVITY_SNAPSHOT",
      messageId: id,
      activityType,
      content: body,
      ...(replace === undefined ? undefined : { replace }),
    });
  }

  /** The model takes back what it began: what is left is what was there before. */
  #reset(): void {
    this.#words.close();
    this.#words.take();
    this.#words.newStep(this.#stepId);
    this.#calls.takeBack();
    this.#say({ type: "MESSAGES_SNAPSHOT", messages: this.#kept.messages });
  }

  #child(event: EventOf<"child-start" | "child-end">): void {
    const { runId, agentId, toolCallId } = event;
    this.#children.set(runId, event);
    if (!this.#openChildren.has(runId)) {
      this.#openChildren.add(runId);
      const parent = toolCallId === undefined ? undefined : { parentToolCallId: toolCallId };
      this.#say({ type: "SUBAGENT_STARTED", subagentRunId: runId, name: agentId, ...parent });
    }
    if (event.type === "child-start") return;
    this.#openChildren.delete(runId);
    const { outcome } = event;
    if (outcome.status === "failed") this.#say({ type: "SUBAGENT_ERROR", subagentRunId: runId, message: outcome.error.message });
    else this.#say({ type: "SUBAGENT_FINISHED", subagentRunId: runId, result: outcome.response, outcome: { type: "success" } });
  }

  /** All that is open, before the last frame. */
  #close(forCalls: string | undefined): void {
    this.#words.close();
    this.#keepTurn();
    this.#calls.closeInputs();
    if (forCalls !== undefined) this.#calls.giveUpAll(forCalls);
    this.#endStep();
  }

  #closeChildren(tickets: readonly Ticket[]): void {
    for (const runId of this.#openChildren) {
      const interruptIds = tickets.filter((ticket) => ticket.runId === runId).map(({ id }) => id);
      this.#say({ type: "SUBAGENT_FINISHED", subagentRunId: runId, outcome: { type: "suspended", interruptIds } });
    }
    this.#openChildren.clear();
  }

  #end(event: EventOf<"run-end">): void {
    const { termination, result, threadId, runId, tickets } = event;
    const ids = { threadId, runId: this.#clientRunId ?? runId };
    const isWaiting = termination.type === "suspended";
    this.#close(isWaiting ? undefined : `the run ended: ${termination.type}`);
    this.#isOver = true;
    this.#isFresh = false;
    if (isWaiting) {
      this.#finishWaiting(ids, tickets, { runId, isTold: false });
      return;
    }
    this.#closeChildren([]);
    const usage = this.#tokens.list;
    if (result.status === "failed") this.#say({ type: "RUN_ERROR", message: result.error.message, code: result.error.code, ...usage });
    else if (termination.type === "cancelled") {
      this.#say({ type: "RUN_FINISHED", ...ids, ...(this.#dialect === "1.0" ? { outcome: { type: "cancelled" } } : undefined), ...usage });
    } else this.#say({ type: "RUN_FINISHED", ...ids, result: { ...result }, outcome: { type: "success" }, ...usage });
  }

  #finishWaiting(
    ids: { readonly threadId: string; readonly runId: string },
    tickets: readonly Ticket[],
    { runId, isTold }: { readonly runId: string; readonly isTold: boolean },
  ): void {
    this.#closeChildren(tickets);
    const usage = this.#tokens.list;
    const interrupts = tickets.filter((ticket) => !isFrontendCall(ticket)).map((ticket) => interruptOf(ticket, ticket.runId !== runId));
    if (interrupts.length > 0) {
      if (!isTold) this.#say({ type: "MESSAGES_SNAPSHOT", messages: this.#kept.messages });
      this.#say({ type: "RUN_FINISHED", ...ids, outcome: { type: "interrupt", interrupts }, ...usage });
      return;
    }
    const pendingToolCallIds = tickets.filter(isFrontendCall).map(({ toolCallId }) => toolCallId);
    const pending = this.#dialect === "1.0" && pendingToolCallIds.length > 0 ? { pendingToolCallIds } : undefined;
    this.#say({ type: "RUN_FINISHED", ...ids, outcome: { type: "success", ...pending }, ...usage });
  }
}
