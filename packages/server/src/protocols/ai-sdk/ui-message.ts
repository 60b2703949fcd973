import type { JsonObject, JsonValue } from "@awaken/contract";
import type { AnswerMetadata, Chunk, SteeringPart } from "./chunk.ts";

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

interface Approval {
  readonly id: string;
  readonly approved?: boolean;
  readonly reason?: string;
  readonly requestReason?: string;
  readonly descriptor?: JsonObject;
}

export interface ToolPart {
  readonly type: `tool-${string}` | "dynamic-tool";
  readonly toolName?: string;
  readonly toolCallId: string;
  readonly state:
    | "input-streaming"
    | "input-available"
    | "approval-requested"
    | "approval-responded"
    | "output-available"
    | "output-error"
    | "output-denied";
  readonly input?: JsonValue;
  readonly output?: JsonValue;
  readonly errorText?: string;
  readonly preliminary?: true;
  readonly providerExecuted?: true;
  readonly approval?: Approval;
}

interface WordsPart {
  readonly type: "text" | "reasoning";
  readonly id?: string;
  readonly text: string;
  readonly state: "streaming" | "done";
}

type OtherPart = Extract<Chunk, { type: "source-url" | "source-document" | "file" | "steering-message" | `data-${string}` }>;

export type UiPart = { readonly type: "step-start" } | WordsPart | ToolPart | OtherPart | SteeringPart;

/** A message as pages keep it. */
export interface UiMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly UiPart[];
  readonly metadata?: AnswerMetadata;
}

const isToolPart = (part: UiPart): part is ToolPart => "toolCallId" in part;

/** Makes of chunks the message that a page has of them. */
export class UiMessageFold {
  #id = "";
  #metadata: AnswerMetadata = {};
  #parts: Mutable<UiPart>[] = [];
  readonly #words = new Map<string, Mutable<WordsPart>>();

  get message(): UiMessage {
    const { usage, ...about } = this.#metadata;
    return {
      id: this.#id,
      role: "assistant",
      metadata: usage === undefined ? about : { ...about, usage },
      parts: this.#parts,
    };
  }

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  add(chunk: Chunk): void {
    switch (chunk.type) {
      case "start":
        this.#id = chunk.messageId ?? this.#id;
        this.#metadata = { ...this.#metadata, ...chunk.messageMetadata };
        break;
      case "finish":
        this.#metadata = { ...this.#metadata, ...chunk.messageMetadata };
        break;
      case "start-step":
        this.#parts.push({ type: "step-start" });
        break;
      case "reset-step":
        this.#parts = this.#parts.slice(0, this.#parts.findLastIndex(({ type }) => type === "step-start") + 1);
        break;
      case "text-start":
        this.#open(chunk.id, { type: "text", text: "", state: "streaming" });
        break;
      case "reasoning-start":
        this.#open(chunk.id, { type: "reasoning", id: chunk.id, text: "", state: "streaming" });
        break;
      case "text-delta":
      case "reasoning-delta": {
        const words = this.#words.get(chunk.id);
        if (words !== undefined) words.text += chunk.delta;
        break;
      }
      case "text-end":
      case "reasoning-end": {
        const words = this.#words.get(chunk.id);
        if (words !== undefined) words.state = "done";
        break;
      }
      case "source-url":
      case "source-document":
      case "file":
      case "steering-message":
        this.#parts.push(chunk);
        break;
      default:
        this.#addOther(chunk);
    }
  }

  /** What stands of calls that nobody can answer any more. */
  settle(isOpen: (part: ToolPart) => boolean): void {
    for (const part of this.#parts) {
      if (!isToolPart(part) || isOpen(part)) continue;
      const call: Mutable<ToolPart> = part;
      if (call.state === "approval-requested" && call.approval !== undefined) {
        call.state = "output-denied";
        call.approval = { ...call.approval, approved: false };
      } else if (call.state === "input-available" || call.state === "input-streaming") {
        call.state = "output-error";
        call.input ??= null;
        call.errorText = "the call was given up";
      }
    }
  }

  #open(id: string, words: WordsPart): void {
    this.#words.set(id, words);
    this.#parts.push(words);
  }

  #addOther(chunk: Chunk): void {
    if ("data" in chunk) {
      if (chunk.transient) return;
      const at = this.#parts.findIndex((part) => part.type === chunk.type && "id" in part && part.id === chunk.id);
      if (at === -1) this.#parts.push(chunk);
      else this.#parts[at] = chunk;
    } else if ("toolCallId" in chunk) this.#addCall(chunk);
    else if (chunk.type === "tool-approval-response") {
      const { approvalId, approved, reason } = chunk;
      const part = this.#parts.filter(isToolPart).find(({ approval }) => approval?.id === approvalId);
      if (part?.approval === undefined) return;
      const call: Mutable<ToolPart> = part;
      call.state = "approval-responded";
      call.approval = { ...part.approval, approved, ...(reason === undefined ? undefined : { reason }) };
    }
  }

  #addCall(chunk: Extract<Chunk, { toolCallId: string }>): void {
    if (chunk.type === "tool-input-start") {
      const { toolCallId, toolName, providerExecuted, dynamic } = chunk;
      const kind = dynamic ? ({ type: "dynamic-tool", toolName } as const) : ({ type: `tool-${toolName}` } as const);
      this.#parts.push({ ...kind, toolCallId, state: "input-streaming", ...(providerExecuted ? { providerExecuted } : undefined) });
      return;
    }
    const part = this.#parts.filter(isToolPart).findLast(({ toolCallId }) => toolCallId === chunk.toolCallId);
    if (part === undefined) return;
    const call: Mutable<ToolPart> = part;
    if ("providerExecuted" in chunk && chunk.providerExecuted) call.providerExecuted = true;
    switch (chunk.type) {
      case "tool-input-available":
        call.state = "input-available";
        call.input = chunk.input;
        break;
      case "tool-input-error":
        call.state = "output-error";
        call.input = chunk.input;
        call.errorText = chunk.errorText;
        break;
      case "tool-approval-request":
        call.state = "approval-requested";
        call.approval = {
          id: chunk.approvalId,
          descriptor: chunk.approvalDescriptor,
          ...(chunk.reason === undefined ? undefined : { requestReason: chunk.reason }),
        };
        break;
      case "tool-output-available":
        call.state = "output-available";
        call.output = chunk.output;
        if (chunk.preliminary) call.preliminary = true;
        else delete call.preliminary;
        break;
      case "tool-output-error":
        call.state = "output-error";
        delete call.output;
        call.errorText = chunk.errorText;
        break;
      case "tool-output-denied":
        call.state = "output-denied";
        break;
    }
  }
}
