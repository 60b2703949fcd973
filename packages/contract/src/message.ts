import type { AssistantContent, TextContent, ToolCallContent, ToolContent, UserContent } from "./content.ts";
import type { MessageId, RunId, ToolCallId } from "./ids.ts";
import type { JsonValue } from "./json.ts";
import type { TaskEvent } from "./task.ts";

/** The rows of the log that a summary stands for: 1-based, inclusive. */
export interface CompactionMark {
  /** The first row, counted from 1. */
  readonly fromSeq: number;
  /** The last row, itself included. */
  readonly toSeq: number;
}

/** Everything from `fromSeq` on, up to the row with the mark, is out of the view: it stays in the log. */
export interface RewindMark {
  /** The first row that is out of view. */
  readonly fromSeq: number;
}

export interface MessageMetadata {
  /** The run that wrote it. */
  readonly runId?: RunId;
  /** The step that wrote it. */
  readonly stepIndex?: number;
  /** The agent that said it, where several speak on a thread. */
  readonly senderAgentId?: string;
  /** The id that the client gave it, when the log had a message with that id which was taken out of view. */
  readonly clientId?: MessageId;
  /** Set on news of background work, which its text tells the model. */
  readonly task?: TaskEvent;
  /** Set on a summary: what it stands for. */
  readonly compaction?: CompactionMark;
  /** Only on an internal row, which is itself in no view. */
  readonly rewind?: RewindMark;
}

/** What somebody put in the place of the input that the model wrote. The call is shown with it; the message that asks for it stays as it is. */
export interface EditedInput {
  /** What the call really ran with. */
  readonly input: JsonValue;
  /** Who edited it. */
  readonly by?: string;
}

export interface ToolMessageMetadata extends MessageMetadata {
  /** The message that asks for the call, where its id alone might mean a later one. */
  readonly callMessageId?: MessageId;
  /** Set when a decision changed what the model wrote. */
  readonly edited?: EditedInput;
}

interface Entry {
  /** Unique on its thread. */
  readonly id: MessageId;
  /**
   * `internal` goes to the model and not to clients. On a `tool` message it is a retraction marker:
   * the call is superseded and neither it nor its results are shown to the model.
   */
  readonly visibility?: "internal";
  /** Where it comes from. */
  readonly metadata?: MessageMetadata;
}

export interface SystemMessage extends Entry {
  readonly role: "system";
  /** Instructions, as text. */
  readonly content: readonly TextContent[];
}

export interface UserMessage extends Entry {
  readonly role: "user";
  /** Text, and what the person put beside it. */
  readonly content: readonly UserContent[];
}

export interface AssistantMessage extends Entry {
  readonly role: "assistant";
  /** All that the model said, in its order: text, thought, calls. */
  readonly content: readonly AssistantContent[];
}

/** The visible result of one call. `pending` marks the placeholder of a suspended call, replaced in the view by a later result. */
export interface ToolMessage extends Entry {
  readonly role: "tool";
  /** The call that it answers. */
  readonly toolCallId: ToolCallId;
  /** The tool that was called. */
  readonly toolName: string;
  /** What became of the call; `pending` while it waits for a decision. */
  readonly status: "success" | "error" | "pending";
  /** What the model reads of the result. */
  readonly content: readonly ToolContent[];
  /** Where it comes from, and what was edited. */
  readonly metadata?: ToolMessageMetadata;
}

/** One entry of a thread's log. Once committed it never changes. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
export type Role = Message["role"];

/** The text parts, joined without a separator. */
export function messageText(message: Message): string {
  const { content } = message;
  const [first] = content;
  if (content.length === 1 && first?.type === "text") return first.text;
  let text = "";
  for (const part of content) if (part.type === "text") text += part.text;
  return text;
}

const NO_CALLS: readonly ToolCallContent[] = [];

/** The calls that this message asks us to run, in order; calls that the vendor runs itself are left out. */
export function messageToolCalls(message: Message): readonly ToolCallContent[] {
  if (message.role !== "assistant") return NO_CALLS;
  let calls: ToolCallContent[] | undefined;
  // By hand: of a list that is frozen, as that of a message is, `filter` and `for … of` ask the engine for each item by its name.
  for (let index = 0; index < message.content.length; index++) {
    const part = message.content[index];
    if (part?.type !== "tool-call" || part.executed !== undefined) continue;
    calls ??= [];
    calls.push(part);
  }
  return calls ?? NO_CALLS;
}
