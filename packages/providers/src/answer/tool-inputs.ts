import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall } from "@ai-sdk/provider";
import type { StreamPart } from "@awaken/contract";
import { fromSdkMetadata, type SdkMetadata } from "../sdk-json.ts";

type InputStart = Extract<LanguageModelV4StreamPart, { type: "tool-input-start" }>;
type InputDelta = Extract<LanguageModelV4StreamPart, { type: "tool-input-delta" }>;

interface Input {
  readonly id: string;
  name: string;
  isExecuted: boolean;
  isStarted: boolean;
  /** The call was said in one piece: whatever comes under its id now is another call. */
  isOver: boolean;
  /** The fragments are plain text; only the whole call has JSON. */
  isText: boolean;
  sent: string;
  /** Fragments that wait for the name. */
  held: string;
  metadata: SdkMetadata | undefined;
  sentMetadata: SdkMetadata | undefined;
}

interface InputFacts {
  readonly toolName?: string;
  readonly providerExecuted?: boolean;
  readonly providerMetadata?: SdkMetadata;
}

const newInput = (id: string): Input => ({
  id,
  name: "",
  isExecuted: false,
  isStarted: false,
  isOver: false,
  isText: false,
  sent: "",
  held: "",
  metadata: undefined,
  sentMetadata: undefined,
});

/** After these a value may begin, so a fragment that looks like the whole input again may be a nested one. */
const BEFORE_VALUE = /[:[,{]\s*$/;

/** What is not JSON yet may be said again, longer. */
function isJsonText(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function isCumulative({ sent, held }: Input, delta: string): boolean {
  const length = sent.length + held.length;
  return length > 0 && delta.length > length && delta.startsWith(sent + held) && !BEFORE_VALUE.test(sent + held);
}

/** The input of each call as true fragments, whatever way it arrives: a start first, then only what is new. */
export class ToolInputs {
  readonly #inputs = new Map<string, Input>();
  #hadOpenCalls = false;

  /** Calls that the model waits for; some vendors then still say that they are done. */
  get hasOpenCalls(): boolean {
    return this.#hadOpenCalls || [...this.#inputs.values()].some(({ isStarted, isExecuted }) => isStarted && !isExecuted);
  }

  start(part: InputStart, out: StreamPart[]): void {
    this.#letGo(part.id);
    const input = this.#find(part.id, part);
    input.isText ||= part.inputEncoding === "text";
    this.#send(input, out);
  }

  delta(part: InputDelta, out: StreamPart[]): void {
    const input = this.#find(part.id, part);
    if (input.isText) return;
    input.held += isCumulative(input, part.delta) ? part.delta.slice(input.sent.length + input.held.length) : part.delta;
    this.#send(input, out);
  }

  /** The whole input is the last word, except where fragments that do not lead to it are already out. */
  whole(part: LanguageModelV4ToolCall, out: StreamPart[]): void {
    this.#letGo(part.toolCallId);
    const input = this.#find(part.toolCallId, part);
    input.isOver ||= isJsonText(part.input);
    if (part.input.startsWith(input.sent)) input.held = part.input.slice(input.sent.length);
    this.#send(input, out);
  }

  /** A call that never got a name cannot be run. */
  close(out: StreamPart[]): void {
    for (const { id, isStarted } of this.#inputs.values()) {
      if (!isStarted) out.push({ type: "warning", message: `tool call '${id}' came without a name and was dropped` });
    }
  }

  /** Some models give two calls of a turn one id. */
  #letGo(id: string): void {
    const input = this.#inputs.get(id);
    if (input?.isOver !== true || input.isExecuted) return;
    this.#inputs.delete(id);
    this.#hadOpenCalls = true;
  }

  #find(id: string, { toolName = "", providerExecuted, providerMetadata }: InputFacts): Input {
    const input = this.#inputs.get(id) ?? newInput(id);
    this.#inputs.set(id, input);
    if (toolName !== "") input.name = toolName;
    input.isExecuted ||= providerExecuted === true;
    input.metadata = providerMetadata ?? input.metadata;
    return input;
  }

  #send(input: Input, out: StreamPart[]): void {
    const { id, name, held, metadata } = input;
    if (name === "") return;
    if (!input.isStarted) out.push({ type: "tool-call-start", id, name, ...(input.isExecuted && { executed: "provider" }) });
    input.isStarted = true;
    if (held !== "") out.push({ type: "tool-call-delta", id, delta: held });
    input.sent += held;
    input.held = "";
    if (metadata === input.sentMetadata) return;
    input.sentMetadata = metadata;
    const providerMetadata = fromSdkMetadata(metadata);
    if (providerMetadata !== undefined) out.push({ type: "tool-call-metadata", id, providerMetadata });
  }
}
