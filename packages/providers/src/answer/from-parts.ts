import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4Warning } from "@ai-sdk/provider";
import { InferenceError, isJsonObject, type StopReason, type StreamPart, toJson, toolCallId, type Usage } from "@awaken/contract";
import { fromSdkMetadata } from "../sdk-json.ts";
import { Blocks } from "./blocks.ts";
import { fromFile } from "./from-file.ts";
import { ToolInputs } from "./tool-inputs.ts";

type Part = LanguageModelV4StreamPart;
type Finish = Extract<Part, { type: "finish" }>;
type ToolResult = Extract<Part, { type: "tool-result" }>;
type FilePart = Extract<Part, { type: "file" | "reasoning-file" }>;

/** What comes with an answer and is none. */
const OUTSIDE: ReadonlySet<Part["type"]> = new Set(["stream-start", "response-metadata"]);

const INTERRUPTED = { type: "stream-interrupted", message: "connection reset" } as const;

function warningText(warning: SharedV4Warning): string {
  switch (warning.type) {
    case "other":
      return warning.message;
    case "deprecated":
      return `${warning.setting}: ${warning.message}`;
    default:
      return `${warning.type}: ${warning.feature}${warning.details === undefined ? "" : `: ${warning.details}`}`;
  }
}

function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage | undefined {
  const { total: input, cacheRead, cacheWrite } = inputTokens;
  const { total: output, reasoning } = outputTokens;
  if (input === undefined && output === undefined) return undefined;
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    totalTokens: (input ?? 0) + (output ?? 0),
    ...(cacheRead !== undefined && { cacheReadTokens: cacheRead }),
    ...(cacheWrite !== undefined && { cacheWriteTokens: cacheWrite }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  };
}

/** An answer that the vendor itself calls broken is an error, even though its stream ended in order. */
function toStop({ unified, raw }: LanguageModelV4FinishReason): StopReason | InferenceError {
  switch (unified) {
    case "length":
      return "max-tokens";
    case "tool-calls":
      return "tool-use";
    case "content-filter":
      return "content-filter";
    case "error":
      return new InferenceError({ type: "provider", message: `the model stopped because of an error: ${raw ?? "no reason given"}` });
    case "interrupted":
      return new InferenceError(INTERRUPTED);
    case "stop":
      return raw === "stop_sequence" ? "stop-sequence" : "end-turn";
    default:
      return "end-turn";
  }
}

function fromToolResult(part: ToolResult): StreamPart {
  if (part.toolCallId.trim() === "") return { type: "warning", message: `a result of '${part.toolName}' names no call and was dropped` };
  const metadata = fromSdkMetadata(part.providerMetadata);
  const { toolName: name, result, isError } = part;
  const content = { type: "tool-result", id: toolCallId(part.toolCallId), name, output: toJson(result) } as const;
  return {
    type: "content",
    content: { ...content, ...(isError === true && { isError }), ...(metadata !== undefined && { providerMetadata: metadata }) },
  };
}

/** One answer, part by part, from the SDK's words to ours. Older specification versions are put into these words first. */
export class Translation {
  readonly #blocks = new Blocks();
  readonly #inputs = new ToolInputs();
  #isEmpty = true;
  #isEnded = false;
  #stop: StopReason | undefined;
  #failure: { readonly reason: unknown } | undefined;

  /** The model said that it is done. It may still speak again, but it need not: what the connection does now does not matter. */
  get isFinished(): boolean {
    return this.#stop !== undefined;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Why the answer failed; to be thrown once everything before it was read. */
  get failure(): { readonly reason: unknown } | undefined {
    return this.#failure;
  }

  push(part: Part, out: StreamPart[]): void {
    const before = out.length;
    this.#pushFragment(part, out);
    if (out.length > before && !OUTSIDE.has(part.type)) this.#isEmpty = false;
  }

  /** No part follows. Without a finish the turn ends here, unless nothing was said at all: that is no answer. */
  end(out: StreamPart[]): void {
    this.#isEnded = true;
    if (this.#stop === undefined && this.#isEmpty) this.#failure ??= { reason: new InferenceError(INTERRUPTED) };
    if (this.#failure !== undefined) return;
    this.#blocks.close(out);
    this.#inputs.close(out);
    out.push({ type: "stop", reason: this.#stop ?? "end-turn" });
  }

  #pushFragment(part: Part, out: StreamPart[]): void {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#blocks.start(part);
        break;
      case "text-delta":
      case "reasoning-delta":
        this.#blocks.delta(part, out);
        break;
      case "text-end":
      case "reasoning-end":
        this.#blocks.end(part, out);
        break;
      case "tool-input-start":
        this.#blocks.close(out);
        this.#inputs.start(part, out);
        break;
      case "tool-input-delta":
        this.#inputs.delta(part, out);
        break;
      case "tool-call":
        this.#blocks.close(out);
        this.#inputs.whole(part, out);
        break;
      default:
        this.#pushWhole(part, out);
    }
  }

  #pushWhole(part: Part, out: StreamPart[]): void {
    switch (part.type) {
      case "tool-result":
        if (part.preliminary !== true) out.push(fromToolResult(part));
        break;
      case "file":
      case "reasoning-file":
        this.#pushFile(part, out);
        break;
      case "source": {
        const { type: _, ...fields } = part;
        const source = toJson(fields);
        if (isJsonObject(source)) out.push({ type: "source", source });
        break;
      }
      case "stream-start":
        for (const warning of part.warnings) out.push({ type: "warning", message: warningText(warning) });
        break;
      case "response-metadata": {
        const { id, modelId } = part;
        if (id !== undefined || modelId !== undefined) {
          out.push({ type: "response", ...(id !== undefined && { id }), ...(modelId !== undefined && { model: modelId }) });
        }
        break;
      }
      case "tool-approval-request":
        out.push({ type: "warning", message: `the vendor asks to approve its call '${part.toolCallId}': not supported` });
        break;
      case "finish":
        this.#finish(part, out);
        break;
      case "error":
        this.#failure = { reason: part.error };
    }
  }

  #pushFile(part: FilePart, out: StreamPart[]): void {
    this.#blocks.close(out);
    out.push({ type: "content", content: fromFile(part) });
  }

  /** A stream may hold several answers; each has its own tokens, the last one says why it stopped. */
  #finish({ usage, finishReason }: Finish, out: StreamPart[]): void {
    this.#blocks.close(out);
    const tokens = toUsage(usage);
    if (tokens !== undefined) out.push({ type: "usage", usage: tokens });
    const stop = toStop(finishReason);
    if (stop instanceof InferenceError) this.#failure = { reason: stop };
    else this.#stop = stop === "end-turn" && this.#inputs.hasOpenCalls ? "tool-use" : stop;
  }
}
