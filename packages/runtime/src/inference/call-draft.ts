import { isJson, type JsonValue, type ProviderMetadata, type ToolCall, type ToolCallContent, type ToolCallId } from "@awaken/contract";

/** A call while its input arrives. `name` is empty until the vendor says it; until then no client hears of the call. */
export interface CallDraft {
  readonly type: "call";
  readonly id: ToolCallId;
  name: string;
  input: string;
  readonly isOurs: boolean;
  /** The input came twice under one id: the first one counts. */
  isClosed: boolean;
  /** The vendor has said it in one piece, too. */
  isWhole: boolean;
  providerMetadata: ProviderMetadata | undefined;
}

const EMPTY_INPUT: JsonValue = Object.freeze({});

/** Undefined for what is no JSON, and for `null`, which no tool takes. */
function parseInput(text: string): JsonValue | undefined {
  try {
    const value: unknown = JSON.parse(text);
    // Nested deeper than a store can keep, it is as good as broken.
    return value === null || !isJson(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** The input of a call whose stream ended well; a call without any input has the empty one. */
export function endedInput({ name, input }: CallDraft): JsonValue | undefined {
  if (name === "") return undefined;
  return input.trim() === "" ? EMPTY_INPUT : parseInput(input);
}

/** The input of a call whose stream broke, if it had come whole. A bare number never counts: its next digit may be missing. */
export function cutInput({ name, input }: CallDraft): JsonValue | undefined {
  if (name === "" || input === "") return undefined;
  const value = parseInput(input);
  return typeof value === "number" ? undefined : value;
}

export const toToolCall = ({ id, name }: CallDraft, input: JsonValue): ToolCall => ({ id, name, input });

export function toCallContent({ id, name, isOurs, providerMetadata }: CallDraft, input: JsonValue): ToolCallContent {
  const content: ToolCallContent = isOurs
    ? { type: "tool-call", id, name, input }
    : { type: "tool-call", id, name, input, executed: "provider" };
  return providerMetadata === undefined ? content : { ...content, providerMetadata };
}

/** Input that the vendor ran already is only a record, so it need not be usable. */
export const recordedInput = (draft: CallDraft): JsonValue => endedInput(draft) ?? EMPTY_INPUT;
