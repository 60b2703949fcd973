import {
  type AgentEvent,
  type AssistantMessage,
  concludeRecord,
  isSettled,
  type JsonValue,
  type Message,
  type MessageId,
  messageText,
  openTicketsOf,
  type RunId,
  type RunOutcome,
  type RunRecord,
  runIdentity,
  type Suspension,
  type Termination,
  type Ticket,
  type TicketId,
  type ToolCallId,
  type ToolMessage,
  type ToolResult,
} from "@awaken/contract";

export type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** What a text of the log was, as far as it tells. */
export function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function suspensionOf({ id, action, resumeMode, message, parameters, responseSchema, canEdit, expiresAt }: Ticket): Suspension {
  return {
    id,
    action,
    resumeMode,
    ...(message === undefined ? undefined : { message }),
    ...(parameters === undefined ? undefined : { parameters }),
    ...(responseSchema === undefined ? undefined : { responseSchema }),
    ...(canEdit === undefined ? undefined : { canEdit }),
    ...(expiresAt === undefined ? undefined : { expiresAt }),
  };
}

/** Undefined for one that waits for something else than an answer here. */
function resultOf(message: ToolMessage, tickets: readonly Ticket[]): ToolResult | undefined {
  const text = messageText(message);
  if (message.status === "error") return { type: "error", code: "execution_failed", message: text };
  if (message.status === "pending") {
    const ticket = tickets.find(({ toolCallId }) => toolCallId === message.toolCallId);
    return ticket === undefined ? undefined : { type: "pending", suspension: suspensionOf(ticket) };
  }
  const media = message.content.flatMap((part) => (part.type === "text" ? [] : [part]));
  return { type: "success", data: parsed(text), ...(media.length === 0 ? undefined : { media }) };
}

const DENIED = "Denied: ";
const NO_REASON = "the call was not approved";

/** Why, in the words of whoever denied it, which may be none; undefined for another failure. */
function denialIn(text: string): string | undefined {
  if (!text.startsWith(DENIED)) return undefined;
  const reason = text.slice(DENIED.length);
  return reason === NO_REASON ? "" : reason;
}

const OUTCOMES = { success: "succeeded", error: "failed", pending: "suspended" } as const;

/** Messages and records of runs as the events that they came of, as far as they tell. */
export class Retelling {
  readonly events: AgentEvent[] = [];
  readonly #runs: ReadonlyMap<RunId, RunRecord>;
  readonly #children: ReadonlyMap<RunId, readonly EventOf<"child-start">[]>;
  #run: RunRecord | undefined;
  #step: number | undefined;
  /** The last one of the run that was told. */
  #lastStep = 0;
  /** Of people, before it is known whom they spoke to. */
  #said: Message[] = [];
  /** The message of the last turn. */
  #asker: MessageId | undefined;
  /** Calls of that turn that wait, or did. */
  readonly #waited = new Map<ToolCallId, ToolMessage>();
  /** Those of them whose question was told, or that have their result. */
  readonly #asked = new Set<ToolCallId>();

  /** Runs that ended before they wrote anything, by the last message that they were to answer. */
  readonly #silent: ReadonlyMap<string, RunRecord>;

  constructor(
    runs: ReadonlyMap<RunId, RunRecord>,
    children: ReadonlyMap<RunId, readonly EventOf<"child-start">[]>,
    silent: readonly RunRecord[],
  ) {
    this.#silent = new Map(silent.map((run) => [run.input.triggerMessageIds.at(-1) ?? "", run]));
    this.#runs = runs;
    this.#children = children;
  }

  add(message: Message): void {
    if (message.role === "tool" && message.visibility === "internal") this.#withdraw(message);
    if (message.visibility === "internal") return;
    if (message.role === "user") this.#hear(message);
    else if (message.role === "assistant") this.#turn(message);
    else if (message.role === "tool") this.#result(message);
  }

  #hear(message: Message): void {
    this.#said.push(message);
    const run = this.#silent.get(message.id);
    if (run?.answerId === undefined) return;
    this.#begin(run);
    this.#leave();
  }

  /** What comes next is of another run, or of none. */
  end(): void {
    this.#leave();
    this.#accept("start");
  }

  /** What comes next is more of this run; `isResumed`: it rested before. */
  endIn(run: RunRecord, isResumed: boolean): void {
    this.#begin(run);
    if (isResumed) this.#rest(run);
  }

  #rest(run: RunRecord): void {
    for (const [toolCallId, message] of this.#waited) {
      const ticket = [...run.decided, ...(run.closed ?? [])].findLast((past) => past.toolCallId === toolCallId);
      if (ticket !== undefined) this.#ask(message, ticket.ticketId);
    }
    this.#endStep();
    this.#endRun(run, { type: "suspended" }, { status: "waiting", waitingReason: "suspended", response: "" });
  }

  #begin(run: RunRecord): void {
    if (this.#run?.runId === run.runId) {
      // What is said to a run that waits is what it goes on with.
      const isTakenUp = this.#waited.size > 0 && this.#said.length > 0;
      if (isTakenUp) {
        this.#rest(run);
        this.#start(run, true);
      }
      this.#accept(isTakenUp ? "resume" : "steer");
      return;
    }
    this.#leave();
    this.#run = run;
    this.#lastStep = 0;
    if (this.#start(run, false)) this.#accept("start");
  }

  #start(run: RunRecord, resumed: boolean): boolean {
    const { threadId, runId: id, answerId } = run;
    if (answerId === undefined) return false;
    this.events.push({ type: "run-start", threadId, runId: id, identity: runIdentity(run), answerId, resumed });
    return true;
  }

  #accept(mode: EventOf<"input-accepted">["mode"]): void {
    if (this.#said.length === 0) return;
    this.#endStep();
    this.events.push({ type: "input-accepted", messages: this.#said, mode });
    this.#said = [];
  }

  #turn(message: AssistantMessage): void {
    const id = message.metadata?.runId;
    const run = id === undefined ? undefined : this.#runs.get(id);
    if (run === undefined) return;
    this.#begin(run);
    this.#endStep();
    const step = (message.metadata?.stepIndex ?? 0) + 1;
    this.#step = step;
    this.#lastStep = step;
    this.#asker = message.id;
    this.#waited.clear();
    this.#asked.clear();
    this.events.push({ type: "step-start", step, messageId: message.id, agentId: message.metadata?.senderAgentId ?? run.agentId });
    const frontendTools = new Set(run.activation.options.frontendTools.map(({ id }) => id));
    for (const part of message.content) {
      if (part.type === "text" || part.type === "reasoning") {
        if (part.text !== "") this.events.push({ type: part.type === "text" ? "text-delta" : "reasoning-delta", delta: part.text });
      } else if (part.type === "tool-call" && part.executed === undefined) {
        const call = { toolCallId: part.id, toolName: part.name };
        const runsAt = frontendTools.has(part.name) ? "client" : "server";
        this.events.push({ type: "tool-call-start", ...call });
        this.events.push({ type: "tool-call-ready", ...call, input: part.input, runsAt, dynamic: false });
      }
    }
  }

  #result(message: ToolMessage): void {
    const { toolCallId, toolName, id: messageId } = message;
    if (message.status === "pending") this.#waited.set(toolCallId, message);
    else if (this.#isClosed(toolCallId)) {
      this.#withdraw(message);
      return;
    }
    if (this.#deny(message)) return;
    const result = this.#run === undefined ? undefined : resultOf(message, openTicketsOf(this.#run));
    if (result === undefined) return;
    this.#asked.add(toolCallId);
    this.events.push({ type: "tool-call-end", toolCallId, toolName, messageId, outcome: OUTCOMES[result.type], result });
  }

  /** A call that waited and that somebody said no to. */
  #deny(message: ToolMessage): boolean {
    const { toolCallId, toolName } = message;
    const run = this.#run;
    const messageId = this.#asker;
    const reason = message.status === "error" && this.#waited.has(toolCallId) ? denialIn(messageText(message)) : undefined;
    if (run === undefined || messageId === undefined || reason === undefined) return false;
    const ticketId = run.decided.findLast((decided) => decided.toolCallId === toolCallId)?.ticketId;
    if (ticketId === undefined) return false;
    const call = { toolCallId, toolName };
    const denial = { action: "deny", ...(reason === "" ? undefined : { reason }) } as const;
    this.#ask(message, ticketId);
    this.events.push({ type: "decision-taken", ...call, runId: run.runId, ticketId, decidedAt: run.updatedAt, ...denial });
    this.events.push({ type: "tool-call-resumed", ...call, messageId, ticketId, outcome: "denied", result: denial });
    return true;
  }

  /** Its ticket was closed without a decision. */
  #isClosed(toolCallId: ToolCallId): boolean {
    return this.#waited.has(toolCallId) && (this.#run?.closed ?? []).some((closed) => closed.toolCallId === toolCallId);
  }

  /** A call that was given up while it waited: whoever sees it sees that nobody allowed it. */
  #withdraw({ toolCallId }: ToolMessage): void {
    const message = this.#waited.get(toolCallId);
    const ticket = this.#run?.closed?.findLast((closed) => closed.toolCallId === toolCallId);
    if (ticket !== undefined && message !== undefined) this.#ask(message, ticket.ticketId);
  }

  /** What was asked is not on record any more, but that it was. */
  #ask({ toolCallId, toolName, id: messageId }: ToolMessage, id: TicketId): void {
    if (this.#asked.has(toolCallId)) return;
    this.#asked.add(toolCallId);
    const result: ToolResult = { type: "pending", suspension: { id, action: "approve" } };
    this.events.push({ type: "tool-call-end", toolCallId, toolName, messageId, outcome: "suspended", result });
  }

  #endStep(): void {
    if (this.#step === undefined) return;
    this.events.push({ type: "step-end", step: this.#step });
    this.#step = undefined;
  }

  /** Nothing more comes of the run that was told. */
  #leave(): void {
    const run = this.#run;
    if (run?.status === "done" && run.closed?.some((closed) => closed.closedBy === undefined && this.#waited.has(closed.toolCallId))) {
      // It ended while it waited, for which it was taken up.
      this.#rest(run);
      this.#start(run, true);
    }
    this.#endStep();
    this.#run = undefined;
    if (run === undefined || !isSettled(run)) return;
    this.#silentStep(run);
    this.events.push(...(this.#children.get(run.runId) ?? []));
    const { termination, ...concluded } = concludeRecord(run);
    const response = run.status === "done" ? run.outcome.response : "";
    this.#endRun(run, termination, { ...concluded, response }, openTicketsOf(run));
  }

  /** The run ended in a step that wrote nothing: that it began is what was seen of it. */
  #silentStep({ answerId, steps, agentId, status }: RunRecord): void {
    if (answerId === undefined || status !== "done" || steps <= this.#lastStep) return;
    this.events.push({ type: "step-start", step: steps, messageId: answerId, agentId }, { type: "step-end", step: steps });
  }

  #endRun(run: RunRecord, termination: Termination, result: RunOutcome, tickets: readonly Ticket[] = []): void {
    const { threadId, runId: id, usage, usageByModel = [] } = run;
    this.events.push({ type: "run-end", threadId, runId: id, termination, tickets, result, usage, usageByModel });
  }
}
