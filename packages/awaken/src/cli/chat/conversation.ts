import {
  type AgentEvent,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Termination,
  type Ticket,
  type ToolResult,
} from "@awaken/contract";
import { brief } from "../printable.ts";
import { clean, cutAt, TextCleaner } from "../sanitize.ts";
import {
  ANSWERED,
  type Block,
  type BlockOf,
  type Change,
  type NoteTone,
  type NumberedTicket,
  type ToolEnd,
  type ToolState,
} from "./block.ts";
import { BlockList } from "./block-list.ts";
import type { Retry } from "./retry.ts";
import { ANSWER_LIMIT, jsonLine, prettyJson, TICKET_LIMIT } from "./text-limits.ts";
import { progressNote, resultText, resumedText, terminationNote, toolEnd } from "./tool-text.ts";

/** Of what a task is about. */
const ABOUT_LIMIT = 60;

type TextBlock = "answer" | "thought" | "draft";

/** What a chat does not show, or shows by other means. A new type of event does not compile until somebody said which it is. */
type Unshown =
  | "run-start"
  | "run-end"
  | "input-accepted"
  | "step-start"
  | "step-end"
  | "text-delta"
  | "reasoning-delta"
  | "reasoning-encrypted-value"
  | "tool-call-start"
  | "tool-call-delta"
  | "tool-call-run"
  | "decision-taken"
  | "outcome-found"
  | "stream-reset"
  | "inference-retry"
  | "inference-end"
  | "state-snapshot";

/** What a thread looks like to the person who talks to it, made from events and records. It does no I/O and knows no screen. */
export class Conversation {
  readonly #list: BlockList;
  #cleaner = new TextCleaner();
  /** What is being written: the cleaner is in the middle of it. */
  #writing: TextBlock | undefined;
  #retry: Retry | undefined;
  #hasOutput = false;
  #stepStart = 0;
  #tokens = 0;
  #cutChars = 0;

  constructor(onChange: (change: Change) => void = () => {}) {
    this.#list = new BlockList(onChange);
  }

  get blocks(): readonly Block[] {
    return this.#list.blocks;
  }

  /** Those that earlier runs of the thread used. */
  countTokens(used: number): void {
    this.#tokens += used;
  }

  /** Of all inferences that were heard of. */
  get tokens(): number {
    return this.#tokens;
  }

  /** The model was asked again, and has said nothing since. */
  get retry(): Retry | undefined {
    return this.#retry;
  }

  /** Open ones, by number. */
  get tickets(): readonly NumberedTicket[] {
    return this.blocks.flatMap((block) => (block.type === "ticket" && block.state.type === "open" ? [block.ask] : []));
  }

  /** Neither what a person says meanwhile nor a note cuts an answer in two: it goes on where it stands. */
  user(text: string, how: BlockOf<"user">["how"]): void {
    this.#list.add({ type: "user", text: clean(text), how });
  }

  note(tone: NoteTone, text: string): void {
    this.#list.add({ type: "note", tone, text: clean(text) });
  }

  answer(text: string): void {
    this.#list.add({ type: "answer", text: clean(text), isOpen: false });
  }

  output(value: JsonValue): void {
    this.#list.add({ type: "output", json: prettyJson(value) });
  }

  /** `input` is what it runs with, when that is not what the model asked for. */
  call(callId: string, name: string, asked: JsonValue, input: JsonValue = asked): void {
    this.#closeText();
    const state = { type: "running", note: "" } as const;
    this.#list.add({ type: "tool", callId, name: clean(name), asked: jsonLine(asked), input: jsonLine(input), state });
  }

  /** Says how far a call is. Vendors use ids again: the last call with this id is meant. */
  callState(callId: string, state: ToolState): void {
    const index = this.#list.findLast((block) => block.type === "tool" && block.callId === callId);
    const block = this.blocks[index];
    if (block?.type !== "tool" || (block.state.type === "waiting" && state.type === "waiting")) return;
    this.#list.replace(index, { ...block, state });
  }

  /** The call runs with another input than the model asked for. */
  editInput(callId: string, input: JsonValue): void {
    const index = this.#list.findLast((block) => block.type === "tool" && block.callId === callId);
    const block = this.blocks[index];
    if (block?.type === "tool") this.#list.replace(index, { ...block, input: jsonLine(input) });
  }

  /** Calls without a result: nobody executes them any more. In a run that waits, some wait for the runs of others. */
  endCalls(result: string, isWaiting = false): void {
    const open = new Set<string>(this.tickets.map(({ ticket }) => ticket.toolCallId));
    for (const [index, block] of this.blocks.entries()) {
      if (block.type !== "tool" || block.state.type === "over") continue;
      if (block.state.type === "waiting" && (isWaiting || open.has(block.callId))) continue;
      this.#list.replace(index, { ...block, state: { type: "over", outcome: "cancelled", result } });
    }
  }

  /** The tickets that are open now: new ones are asked about, those that are gone are closed. */
  ask(tickets: readonly Ticket[]): void {
    for (const { ticket } of this.tickets) {
      if (!tickets.some(({ id, runId }) => id === ticket.id && runId === ticket.runId)) this.decided(ticket.id, "closed");
    }
    for (const ticket of tickets) {
      if (this.tickets.some((open) => open.ticket.id === ticket.id)) continue;
      const number = Math.max(0, ...this.tickets.map((open) => open.number)) + 1;
      const message = clean(ticket.message ?? `${ticket.toolName}: ${ticket.action}`);
      const input = jsonLine(ticket.input, TICKET_LIMIT);
      this.callState(ticket.toolCallId, { type: "waiting" });
      this.#list.add({ type: "ticket", ask: { number, ticket }, message, input, state: { type: "open" } });
    }
  }

  decided(ticketId: string, how: string): void {
    const index = this.#list.findLast(
      (block) => block.type === "ticket" && block.state.type === "open" && block.ask.ticket.id === ticketId,
    );
    const block = this.blocks[index];
    if (block?.type === "ticket") this.#list.replace(index, { ...block, state: { type: "closed", how: clean(how) } });
  }

  /** A run begins: with `hasOutput` its last answer is data, and is shown as such. */
  begin(hasOutput: boolean): void {
    this.#hasOutput = hasOutput;
    this.#stepStart = this.blocks.length;
  }

  apply(event: AgentEvent): void {
    this.#retry = event.type === "inference-retry" ? { ...event, reason: clean(event.reason) } : undefined;
    switch (event.type) {
      case "step-start":
        this.#closeText();
        this.#closeDrafts();
        this.#stepStart = this.blocks.length;
        return;
      case "text-delta":
        this.#append(this.#hasOutput ? "draft" : "answer", event.delta);
        return;
      case "reasoning-delta":
        this.#append("thought", event.delta);
        return;
      case "tool-call-start":
        this.#closeText();
        return;
      case "stream-reset":
        this.#writing = undefined;
        this.#cutChars = 0;
        this.#list.drop(this.#stepStart, isText, clean(event.reason));
        return;
      case "inference-end":
        this.#tokens += event.usage.totalTokens;
        return;
      case "run-end":
        this.#end(event);
        return;
      default:
        this.#applyToCall(event);
        return;
    }
  }

  #applyToCall(event: AgentEvent): void {
    switch (event.type) {
      case "tool-call-ready":
        this.call(event.toolCallId, event.toolName, event.input);
        return;
      case "tool-call-end":
        this.#endCall(event.toolCallId, toolEnd(event.result), event.result);
        return;
      case "ticket-open":
        this.ask([...this.tickets.map(({ ticket }) => ticket), event.ticket]);
        return;
      case "tool-call-resumed":
        this.callState(event.toolCallId, { type: "over", outcome: this.#resumedEnd(event), result: resumedText(event) });
        return;
      case "tool-call-stream-delta":
        this.#report(event.toolCallId, clean(event.delta).trim().split("\n").at(-1) ?? "");
        return;
      case "activity-snapshot":
        if (!isJsonObject(event.content)) return;
        if (event.activityType === "tool-call-progress") this.#report(event.messageId, progressNote(event.content));
        if (event.activityType === "background-task") this.#task(event.content);
        return;
      case "tool-call-cancel":
        this.note("warning", `the call of ${event.toolName} was lost: ${event.reason}`);
        return;
      case "run-retry":
        this.note("warning", `the run is tried again (attempt ${event.attempt}): ${event.reason}`);
        return;
      case "thread-rewound":
        this.note("info", "the thread was rewound: a message, and all that came behind it, is gone");
        return;
      case "child-start":
        this.note("info", `${event.agentPath.join(" > ")} begins`);
        return;
      case "child-end":
        this.note("info", `${event.agentPath.join(" > ")} ${event.outcome.status}`);
        return;
      default:
        event.type satisfies Unshown;
    }
  }

  /** Work in the background is one line, which says how far it is. Ids are unique in a thread. */
  #task({ taskId, taskType, name, description, status }: JsonObject): void {
    if (typeof taskId !== "string" || typeof status !== "string") return;
    const index = this.#list.findLast((block) => block.type === "task" && block.taskId === taskId);
    const before = this.blocks[index];
    const about = brief(String(name ?? description ?? taskType), ABOUT_LIMIT);
    const block = { type: "task", taskId: clean(taskId), about, status: clean(status) } as const;
    if (before?.type !== "task") this.#list.add(block);
    else if (before.status !== block.status) this.#list.replace(index, block);
  }

  /** The ticket of a call that a person answered for its tool says so. */
  #resumedEnd({ outcome, toolCallId }: Extract<AgentEvent, { type: "tool-call-resumed" }>): ToolEnd {
    const index = this.#list.findLast((block) => block.type === "ticket" && block.ask.ticket.toolCallId === toolCallId);
    const block = this.blocks[index];
    if (outcome !== "succeeded" || block?.type !== "ticket" || block.state.type === "open") return outcome;
    return block.state.how === ANSWERED && block.ask.ticket.resumeMode !== "pass-decision-to-tool" ? "answered" : outcome;
  }

  #report(callId: string, note: string): void {
    if (note !== "") this.callState(callId, { type: "running", note });
  }

  #endCall(callId: string, outcome: ToolEnd | "waiting", result: ToolResult): void {
    this.callState(callId, outcome === "waiting" ? { type: "waiting" } : { type: "over", outcome, result: resultText(result) });
  }

  #end({ termination, tickets, result }: Extract<AgentEvent, { type: "run-end" }>): void {
    this.#closeText();
    if (result?.output !== undefined) this.#showOutput(result.output);
    this.#closeDrafts();
    this.ask(tickets);
    this.endCalls(termination.type === "cancelled" ? "cancelled" : "no result", termination.type === "suspended");
    this.#tellEnd(termination);
  }

  #tellEnd(termination: Termination): void {
    const told = terminationNote(termination);
    if (told !== undefined) this.note(told.tone, told.text);
  }

  /** The draft of the last step was the data itself. */
  #showOutput(value: JsonValue): void {
    const index = this.#list.findLast((block) => block.type === "draft");
    if (index < 0) this.output(value);
    else this.#list.replace(index, { type: "output", json: prettyJson(value) });
  }

  /** What was said on the way, or did not become data, is text. */
  #closeDrafts(): void {
    for (const [index, block] of this.blocks.entries()) {
      if (block.type === "draft") this.#list.replace(index, { type: "answer", text: block.text, isOpen: false });
    }
  }

  #append(type: TextBlock, delta: string): void {
    if (this.#writing !== type) this.#startText(type);
    const index = this.#openText(type);
    const open = this.blocks[index];
    const before = open !== undefined && "text" in open ? open.text : "";
    const text = this.#cleaner.push(delta);
    const kept = cutAt(text, Math.max(0, ANSWER_LIMIT.chars - before.length));
    this.#cutChars += text.length - kept.length;
    if (kept === "") return;
    const block: Block = type === "draft" ? { type, text: before + kept } : { type, text: before + kept, isOpen: true };
    if (open === undefined) this.#list.add(block);
    else this.#list.replace(index, block);
  }

  /** The block that text of this kind goes on in. Data is one block, whatever is said meanwhile. */
  #openText(type: TextBlock): number {
    if (type === "draft") return this.#list.findLast((block) => block.type === "draft");
    return this.#list.findLast((block) => block.type === type && block.isOpen);
  }

  #startText(type: TextBlock): void {
    this.#closeText();
    this.#writing = type;
    this.#cleaner = new TextCleaner();
  }

  /** What is being written is complete. */
  #closeText(): void {
    const cut = this.#cutChars;
    this.#cutChars = 0;
    this.#writing = undefined;
    const index = this.#list.findLast((block) => (block.type === "answer" || block.type === "thought") && block.isOpen);
    const block = this.blocks[index];
    if (block?.type === "answer" || block?.type === "thought") this.#list.replace(index, { ...block, isOpen: false });
    if (cut > 0) this.#list.add({ type: "note", tone: "warning", text: `cut: ${cut} more characters` });
  }
}

const isText = (block: Block): boolean => block.type === "answer" || block.type === "thought" || block.type === "draft";
