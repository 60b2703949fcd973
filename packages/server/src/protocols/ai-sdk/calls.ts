import type { Suspension, Ticket } from "@awaken/contract";
import type { CallFlags, Chunk, Dialect } from "./chunk.ts";
import { descriptorBelow, descriptorOf, type EventOf, newCall, outcomeOf, resumedOutcome, type ShownCall } from "./shown-calls.ts";

/** Tools of MCP servers are found while the program runs. */
const isFound = (toolName: string): boolean => toolName.startsWith("mcp__");

export type CallEvent = EventOf<
  "tool-call-start" | "tool-call-delta" | "tool-call-ready" | "tool-call-stream-delta" | "tool-call-end" | "tool-call-cancel"
>;

/** Who the calls of a message speak through. */
export interface CallSpeaker {
  say(chunk: Chunk): void;
  /** Before anything is said of a message that somebody has already. */
  start(): void;
}

/** The calls of one message: what is shown of each, and what the page may answer. */
export class Calls {
  readonly #dialect: Dialect;
  readonly #frontendTools: ReadonlySet<string> | undefined;
  readonly #speaker: CallSpeaker;
  readonly #calls = new Map<string, ShownCall>();
  readonly #decided = new Map<string, { readonly approved: boolean; readonly reason?: string }>();
  /** Runs below, and the call that waits for them. */
  readonly #children = new Map<string, string>();
  readonly #found = new Set<string>();

  constructor(dialect: Dialect, frontendTools: readonly string[] | undefined, speaker: CallSpeaker) {
    this.#dialect = dialect;
    this.#frontendTools = frontendTools === undefined ? undefined : new Set(frontendTools);
    this.#speaker = speaker;
  }

  get isAnyOpen(): boolean {
    for (const { isOpen } of this.#calls.values()) if (isOpen) return true;
    return false;
  }

  newMessage(): void {
    this.#calls.clear();
    this.#children.clear();
  }

  outcomeOf(toolCallId: string): readonly Chunk[] {
    return this.#calls.get(toolCallId)?.outcome ?? [];
  }

  take(event: CallEvent): void {
    const { toolCallId } = event;
    if (event.type === "tool-call-start") {
      this.#open(event);
      return;
    }
    if (event.type === "tool-call-ready") {
      this.#ready(event);
      return;
    }
    const call = this.#calls.get(toolCallId);
    // A message that does not have the call has no room for what becomes of it.
    if (call === undefined) return;
    switch (event.type) {
      case "tool-call-delta":
        this.#say({ type: "tool-input-delta", toolCallId, inputTextDelta: event.delta });
        return;
      case "tool-call-stream-delta":
        call.streamed += event.delta;
        this.#say({ type: "tool-output-available", toolCallId, output: call.streamed, preliminary: true, ...call.flags });
        return;
      case "tool-call-cancel":
        this.#close(call, [{ type: "tool-output-error", toolCallId, errorText: event.reason, ...call.flags }]);
        return;
      case "tool-call-end":
        if (event.result.type !== "pending") {
          this.#close(call, outcomeOf(call, event.result));
          return;
        }
        this.#ask(call, event.result.suspension);
        return;
    }
  }

  resume(event: EventOf<"tool-call-resumed">): void {
    const call = this.#calls.get(event.toolCallId);
    if (call === undefined || !call.isOpen) return;
    this.#speaker.start();
    call.waiting = [];
    if (call.approvalId !== undefined && event.outcome === "denied" && !this.#decided.has(call.approvalId)) {
      this.#decided.set(call.approvalId, { approved: false });
    }
    const answer = this.#answer(call);
    const outcome = resumedOutcome(call, event);
    this.#close(call, [outcome]);
    call.outcome = [...answer, outcome];
  }

  decide(event: EventOf<"decision-taken">): void {
    const { ticketId } = event;
    const reason = event.action === "deny" ? event.reason : undefined;
    this.#decided.set(ticketId, { approved: event.action !== "deny", ...(reason === undefined ? undefined : { reason }) });
    for (const call of this.#calls.values()) {
      call.waiting = call.waiting.filter(({ id }) => id !== ticketId);
      // A call of the run that is shown has its answer with its outcome.
      if (call.approvalId === ticketId && call.toolCallId !== event.toolCallId) this.#answer(call);
    }
  }

  child({ runId, toolCallId }: EventOf<"child-start" | "child-end">): void {
    if (toolCallId !== undefined) this.#children.set(runId, toolCallId);
  }

  /** What a run below asks is answered at the call that waits for it. */
  askBelow(ticket: Ticket): void {
    const call = this.#waitingCall(ticket);
    if (call === undefined || !call.isOpen || call.approvalId === ticket.id || call.waiting.some(({ id }) => id === ticket.id)) return;
    if (call.approvalId !== undefined && !call.isAnswered) {
      call.waiting.push(ticket);
      return;
    }
    this.#speaker.start();
    this.#request(call, ticket.id, ticket.message, descriptorBelow(ticket));
  }

  /** The model takes back what it began. */
  reset(reason: string): void {
    for (const [id, call] of this.#calls) {
      if (call.isReady) continue;
      if (this.#dialect === 6 && call.isOpen) this.#giveUp(call, reason);
      this.#calls.delete(id);
    }
  }

  /** Nothing will become of those that are open. */
  giveUpAll(errorText: string): void {
    for (const call of this.#calls.values()) {
      if (!call.isOpen) continue;
      if (call.approvalId === undefined || call.isAnswered) this.#giveUp(call, errorText);
      else this.#refuse(call, call.approvalId);
    }
  }

  #say(chunk: Chunk): void {
    this.#speaker.say(chunk);
  }

  #flagsOf(toolName: string): CallFlags {
    const isServed = this.#frontendTools !== undefined && !this.#frontendTools.has(toolName);
    const dynamic = isFound(toolName) || this.#found.has(toolName);
    return { ...(isServed ? { providerExecuted: true } : undefined), ...(dynamic ? { dynamic: true } : undefined) };
  }

  #open({ toolCallId, toolName }: EventOf<"tool-call-start">): void {
    const call = newCall(toolCallId, toolName, this.#flagsOf(toolName));
    this.#calls.set(toolCallId, call);
    this.#say({ type: "tool-input-start", toolCallId, toolName, ...call.flags });
  }

  #ready({ toolCallId, toolName, input, runsAt, dynamic, invalid }: EventOf<"tool-call-ready">): void {
    const shown = this.#calls.get(toolCallId);
    const isBegun = shown !== undefined && !shown.isReady;
    if (dynamic) this.#found.add(toolName);
    const call = isBegun ? shown : newCall(toolCallId, toolName, this.#flagsOf(toolName));
    call.isReady = true;
    // A part that was begun as one kind cannot become the other.
    call.flags = {
      ...(runsAt === "server" ? { providerExecuted: true } : undefined),
      ...(call.flags.dynamic ? { dynamic: true } : undefined),
    };
    this.#calls.set(toolCallId, call);
    if (invalid === undefined) this.#say({ type: "tool-input-available", toolCallId, toolName, input, ...call.flags });
    else this.#say({ type: "tool-input-error", toolCallId, toolName, input, errorText: invalid, ...call.flags });
  }

  #close(call: ShownCall, outcome: readonly Chunk[]): void {
    call.isOpen = false;
    call.outcome = outcome;
    for (const chunk of outcome) this.#say(chunk);
  }

  /** Nobody allowed it: a part that failed is one that was approved. */
  #refuse(call: ShownCall, approvalId: string): void {
    call.waiting = [];
    this.#decided.set(approvalId, { approved: false });
    const answer = this.#answer(call);
    const outcome: Chunk = { type: "tool-output-denied", toolCallId: call.toolCallId };
    this.#close(call, [outcome]);
    call.outcome = [...answer, outcome];
  }

  #giveUp(call: ShownCall, errorText: string): void {
    this.#close(call, [{ type: "tool-output-error", toolCallId: call.toolCallId, errorText, ...call.flags }]);
  }

  #ask(call: ShownCall, asked: Suspension): void {
    const { id, resumeMode = "replay-tool-call", message, action } = asked;
    if (id === undefined || resumeMode !== "replay-tool-call" || action === "child-run") return;
    this.#request(call, id, message, descriptorOf(asked));
  }

  #request(call: ShownCall, approvalId: string, reason: string | undefined, approvalDescriptor: ReturnType<typeof descriptorOf>): void {
    if (call.approvalId === approvalId) return;
    call.approvalId = approvalId;
    call.isAnswered = false;
    const { toolCallId } = call;
    this.#say({
      type: "tool-approval-request",
      approvalId,
      toolCallId,
      ...(reason === undefined ? undefined : { reason }),
      approvalDescriptor,
    });
  }

  #waitingCall({ runId, agentPath = [] }: Ticket): ShownCall | undefined {
    const direct = this.#calls.get(this.#children.get(runId) ?? "");
    if (direct !== undefined || agentPath.length < 2) return direct;
    // A run further below: it comes from the child of a call that is open.
    for (const id of this.#children.values()) {
      const call = this.#calls.get(id);
      if (call?.isOpen) return call;
    }
    return undefined;
  }

  #answer(call: ShownCall): readonly Chunk[] {
    const { approvalId } = call;
    if (approvalId === undefined || call.isAnswered) return [];
    call.isAnswered = true;
    this.#speaker.start();
    const response: Chunk = { type: "tool-approval-response", approvalId, ...(this.#decided.get(approvalId) ?? { approved: true }) };
    if (this.#dialect === 7) this.#say(response);
    const [next, ...waiting] = call.waiting;
    call.waiting = waiting;
    if (next !== undefined) this.#request(call, next.id, next.message, descriptorBelow(next));
    return this.#dialect === 7 ? [response] : [];
  }
}
