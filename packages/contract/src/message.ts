import type { AssistantContent, TextContent, ToolCallContent, ToolContent, UserContent } from "./content.ts";
import type { MessageId, RunId, ToolCallId } from "./ids.ts";
import type { JsonValue } from "./json.ts";

/** The rows of the log that a summary stands for: 1-based, inclusive. */
export interface CompactionMark {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** Everything from `fromSeq` on, up to the row with the mark, is out of the view: it stays in the log. */
export interface RewindMark {
  readonly fromSeq: number;
}

export interface MessageMetadata {
  readonly runId?: RunId;
  readonly stepIndex?: number;
  readonly senderAgentId?: string;
  readonly compaction?: CompactionMark;
  /** Only on an internal row, which is itself in no view. */
  readonly rewind?: RewindMark;
}

/** What somebody put in the place of the input that the model wrote. The call is shown with it; the message that asks for it stays as it is. */
export interface EditedInput {
  readonly input: JsonValue;
  readonly by?: string;
}

export interface ToolMessageMetadata extends MessageMetadata {
  /** The message that asks for the call, where its id alone might mean a later one. */
  readonly callMessageId?: MessageId;
  readonly edited?: EditedInput;
}

interface Entry {
  readonly id: MessageId;
  /**
   * `internal` goes to the model and not to clients. On a `tool` message it is a retraction marker:
   * the call is superseded and neither it nor its results are shown to the model.
   */
  readonly visibility?: "internal";
  readonly metadata?: MessageMetadata;
}

export interface SystemMessage extends Entry {
  readonly role: "system";
  readonly content: readonly TextContent[];
}

export interface UserMessage extends Entry {
  readonly role: "user";
  readonly content: readonly UserContent[];
}

export interface AssistantMessage extends Entry {
  readonly role: "assistant";
  readonly content: readonly AssistantContent[];
}

/** The visible result of one call. `pending` marks the placeholder of a suspended call, replaced in the view by a later result. */
export interface ToolMessage extends Entry {
  readonly role: "tool";
  readonly toolCallId: ToolCallId;
  readonly toolName: string;
  readonly status: "success" | "error" | "pending";
  readonly content: readonly ToolContent[];
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

const isOurCall = (part: AssistantContent): part is ToolCallContent => part.type === "tool-call" && part.executed === undefined;

/** The calls that this message asks us to run, in order; calls that the vendor runs itself are left out. */
export function messageToolCalls(message: Message): readonly ToolCallContent[] {
  if (message.role !== "assistant") return NO_CALLS;
  if (!message.content.some(isOurCall)) return NO_CALLS;
  return message.content.filter(isOurCall);
}
