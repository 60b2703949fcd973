import type { AssistantContent, ProviderMetadata, ReasoningContent, TextContent, ToolCall, ToolCallId } from "@awaken/contract";
import { type CallDraft, cutInput, endedInput, recordedInput, toCallContent, toToolCall } from "./call-draft.ts";

/** Text or reasoning while it arrives. */
export interface Block {
  readonly type: "text" | "reasoning";
  text: string;
  signature: string | undefined;
  providerMetadata: ProviderMetadata | undefined;
}

export interface Whole {
  readonly type: "whole";
  readonly content: AssistantContent;
}

export type Entry = Block | CallDraft | Whole;

export interface Collected {
  readonly text: string;
  readonly content: readonly AssistantContent[];
  readonly toolCalls: readonly ToolCall[];
  readonly malformedCalls: readonly { readonly id: ToolCallId; readonly name: string }[];
}

/** How the stream ended decides which of our calls count: every usable one, those that came whole, or none. */
export type Ending = "ended" | "cut" | "dropped";

export function entriesText(entries: readonly Entry[]): string {
  let text = "";
  for (const entry of entries) if (entry.type === "text") text += entry.text;
  return text;
}

/** Calls that the vendor ran and gave a result for. */
export function answeredIds(entries: readonly Entry[]): ReadonlySet<string> {
  const ids = new Set<string>();
  for (const entry of entries) if (entry.type === "whole" && entry.content.type === "tool-result") ids.add(entry.content.id);
  return ids;
}

function toBlockContent({ type, text, signature, providerMetadata }: Block): AssistantContent | undefined {
  if (text === "" && signature === undefined && providerMetadata === undefined) return undefined;
  const extra = providerMetadata === undefined ? undefined : { providerMetadata };
  if (type === "text") return { type, text, ...extra } satisfies TextContent;
  return { type, text, ...(signature === undefined ? undefined : { signature }), ...extra } satisfies ReasoningContent;
}

const isPlainText = (part: AssistantContent | undefined): part is TextContent =>
  part?.type === "text" && part.providerMetadata === undefined;

/** Text that goes on where the text before it stopped is one text: a character cut in two is whole again. */
function pushBlock(content: AssistantContent[], block: AssistantContent): void {
  const last = content.at(-1);
  if (isPlainText(last) && isPlainText(block)) content[content.length - 1] = { type: "text", text: last.text + block.text };
  else content.push(block);
}

/** Most answers have no calls: a list that is frozen already is not frozen again for hooks. */
const NONE: readonly never[] = Object.freeze([]);

const orNone = <T>(list: readonly T[]): readonly T[] => (list.length === 0 ? NONE : list);

/** What the stream said, as an assistant message holds it. */
export function collect(entries: readonly Entry[], ending: Ending): Collected {
  const content: AssistantContent[] = [];
  const toolCalls: ToolCall[] = [];
  const malformedCalls: { id: ToolCallId; name: string }[] = [];
  const answered = ending === "ended" ? undefined : answeredIds(entries);
  const addOurs = (draft: CallDraft) => {
    const input = ending === "ended" ? endedInput(draft) : cutInput(draft);
    if (input !== undefined) {
      content.push(toCallContent(draft, input));
      toolCalls.push(toToolCall(draft, input));
    } else if (ending === "ended" && (draft.name !== "" || draft.input !== "")) malformedCalls.push({ id: draft.id, name: draft.name });
  };
  for (const entry of entries) {
    if (entry.type === "whole") content.push(entry.content);
    else if (entry.type !== "call") {
      const block = toBlockContent(entry);
      if (block !== undefined) pushBlock(content, block);
    } else if (entry.isOurs) {
      if (ending !== "dropped") addOurs(entry);
    } else if (answered?.has(entry.id) ?? true) content.push(toCallContent(entry, recordedInput(entry)));
  }
  // The message keeps it: a copy takes no more room than its items, a list that grew has room for sixteen.
  return { text: entriesText(entries), content: content.slice(), toolCalls: orNone(toolCalls), malformedCalls: orNone(malformedCalls) };
}
