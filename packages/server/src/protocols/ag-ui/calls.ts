import { type AgentEvent, isJsonObject, type JsonValue, type MediaContent, type ToolResult } from "@awaken/contract";
import type { AgUiDialect, AgUiFrame, AgUiToolCall } from "./frame.ts";
import type { Kept } from "./kept.ts";
import { errorText, nthId, resultContent, resultIdOf } from "./messages.ts";
import type { Words } from "./words.ts";

type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

interface Call {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly messageId: string;
  args: string;
  isClient: boolean;
  isArgsOpen: boolean;
  isOver: boolean;
  streamed: string | undefined;
}

const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : JSON.stringify(value ?? null));

/** What the log has of a call that nobody allowed. */
const denialOf = (result: JsonValue): string => {
  const reason = isJsonObject(result) ? result["reason"] : undefined;
  return `Denied: ${typeof reason === "string" && reason.trim() !== "" ? reason : "the call was not approved"}`;
};

const failureOf = (result: JsonValue): string => {
  const error = isJsonObject(result) ? result["error"] : result;
  return errorText(textOf(error));
};

/** What became of a call: its text is what the model reads, as the log has it. */
interface Ending {
  readonly text: string;
  readonly media?: readonly MediaContent[] | undefined;
  readonly isError: boolean;
}

/** Who the calls of a run speak through. */
export interface CallSpeaker {
  readonly words: Words;
  /** Of the message that the step writes. */
  readonly stepId: string;
  say(frame: AgUiFrame): void;
  keepTurn(): void;
}

/** The calls of a run: what is shown of each. */
export class Calls {
  readonly #dialect: AgUiDialect;
  readonly #speaker: CallSpeaker;
  readonly #kept: Kept;
  readonly #calls = new Map<string, Call>();

  constructor(dialect: AgUiDialect, kept: Kept, speaker: CallSpeaker) {
    this.#dialect = dialect;
    this.#kept = kept;
    this.#speaker = speaker;
  }

  /** No input is written any more. */
  closeInputs(): void {
    for (const call of this.#calls.values()) this.#closeArgs(call);
  }

  /** Nothing will become of those that are open. */
  giveUpAll(reason: string): void {
    for (const call of this.#calls.values()) if (!call.isOver) this.#giveUp(call, reason);
  }

  /** What the model began and takes back. */
  takeBack(): void {
    for (const [id, call] of this.#calls) {
      if (!call.isArgsOpen) continue;
      this.#closeArgs(call);
      this.#calls.delete(id);
    }
  }

  take(event: AgentEvent): void {
    switch (event.type) {
      case "tool-call-start":
        this.#openCall(event);
        break;
      case "tool-call-delta": {
        const call = this.#calls.get(event.toolCallId);
        if (call?.isArgsOpen !== true) break;
        call.args += event.delta;
        this.#speaker.say({ type: "TOOL_CALL_ARGS", toolCallId: event.toolCallId, delta: event.delta });
        break;
      }
      case "tool-call-ready":
        this.#ready(event);
        break;
      case "tool-call-stream-delta":
        this.#stream(event);
        break;
      case "tool-call-cancel":
        this.#giveUp(this.#calls.get(event.toolCallId), event.reason);
        break;
      case "tool-call-end":
        if (event.result.type !== "pending") this.#endCall(event.toolCallId, endingOf(event.result));
        break;
      case "tool-call-resumed":
        this.#resume(event);
        break;
    }
  }

  #openCall({ toolCallId, toolName }: EventOf<"tool-call-start">): void {
    this.#speaker.words.close();
    const messageId = nthId(this.#speaker.stepId, Math.max(this.#speaker.words.count - 1, 0));
    const call: Call = { toolCallId, toolName, messageId, args: "", isClient: false, isArgsOpen: true, isOver: false, streamed: undefined };
    this.#calls.set(toolCallId, call);
    this.#speaker.say({ type: "TOOL_CALL_START", toolCallId, toolCallName: toolName, parentMessageId: messageId });
  }

  #ready({ toolCallId, toolName, input, runsAt }: EventOf<"tool-call-ready">): void {
    const shown = this.#calls.get(toolCallId);
    if (shown?.isArgsOpen !== true) this.#openCall({ type: "tool-call-start", toolCallId, toolName });
    const call = this.#calls.get(toolCallId);
    if (call === undefined) return;
    call.isClient = runsAt === "client";
    const whole = JSON.stringify(input);
    if (call.args === "") this.#speaker.say({ type: "TOOL_CALL_ARGS", toolCallId, delta: whole });
    this.#closeArgs(call);
    this.#speaker.keepTurn();
    const made: AgUiToolCall = { id: toolCallId, type: "function", function: { name: toolName, arguments: whole } };
    this.#kept.keepCall(call.messageId, made);
  }

  #closeArgs(call: Call): void {
    if (!call.isArgsOpen) return;
    call.isArgsOpen = false;
    this.#speaker.say({ type: "TOOL_CALL_END", toolCallId: call.toolCallId });
  }

  #endCall(toolCallId: string, { text, media = [], isError }: Ending): void {
    const call = this.#calls.get(toolCallId);
    if (call === undefined || call.isOver) return;
    this.#closeArgs(call);
    call.isOver = true;
    const messageId = resultIdOf(this.#ownerOf(call), toolCallId);
    const content = resultContent(text, media, this.#dialect);
    const metadata = isError && this.#dialect === "1.0" ? { metadata: { error: true } } : undefined;
    this.#speaker.say({ type: "TOOL_CALL_RESULT", messageId, toolCallId, content, role: "tool", ...metadata });
    this.#kept.keep({ id: messageId, role: "tool", toolCallId, content, ...(isError ? { error: text } : undefined) });
  }

  /** The turn that asked: a text of it may have an id of its own. */
  #ownerOf({ messageId }: Call): string {
    return messageId.replace(/_t\d+$/, "");
  }

  #giveUp(call: Call | undefined, reason: string): void {
    if (call !== undefined) this.#endCall(call.toolCallId, { text: reason, isError: true });
  }

  #stream({ toolCallId, delta }: EventOf<"tool-call-stream-delta">): void {
    const call = this.#calls.get(toolCallId);
    if (call === undefined) return;
    const messageId = `activity_${this.#ownerOf(call)}_${toolCallId}`;
    const activityType = "tool-stream-output";
    if (call.streamed === undefined)
      this.#speaker.say({ type: "ACTIVITY_SNAPSHOT", messageId, activityType, content: { toolCallId, output: "" } });
    call.streamed = (call.streamed ?? "") + delta;
    this.#speaker.say({
      type: "ACTIVITY_DELTA",
      messageId,
      activityType,
      patch: [{ op: "replace", path: "/output", value: call.streamed }],
    });
  }

  #resume({ toolCallId, outcome, result, message, media }: EventOf<"tool-call-resumed">): void {
    const call = this.#calls.get(toolCallId);
    if (call === undefined || call.isOver) return;
    const id = resultIdOf(this.#ownerOf(call), toolCallId);
    // What the page sent itself it has.
    if (call.isClient && outcome === "succeeded" && (!this.#kept.isTold || this.#kept.has(id))) {
      call.isOver = true;
      this.#kept.keep({ id, role: "tool", toolCallId, content: textOf(result) });
      return;
    }
    const isError = outcome !== "succeeded";
    const text = outcome === "denied" ? denialOf(result) : isError ? failureOf(result) : (message ?? textOf(result));
    this.#endCall(toolCallId, { text, media, isError });
  }
}

function endingOf(result: Exclude<ToolResult, { type: "pending" }>): Ending {
  if (result.type === "error") return { text: errorText(result.message), isError: true };
  return { text: result.message ?? textOf(result.data), media: result.media, isError: false };
}
