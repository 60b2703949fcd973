import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ProviderMetadata, StreamPart } from "@awaken/contract";
import { fromSdkMetadata, type SdkMetadata } from "../sdk-json.ts";

type BlockPart = Extract<LanguageModelV4StreamPart, { type: `${"text" | "reasoning"}-${"start" | "delta" | "end"}` }>;
type BlockStart = Extract<BlockPart, { type: `${string}-start` }>;
type BlockDelta = Extract<BlockPart, { type: `${string}-delta` }>;
type BlockEnd = Extract<BlockPart, { type: `${string}-end` }>;

interface Block {
  readonly kind: "text" | "reasoning";
  /** The last that came with any of its parts. */
  metadata: SdkMetadata | undefined;
  state: "empty" | "open" | "closed";
}

/** Under the names that vendors use for it. */
function findSignature(metadata: ProviderMetadata): string | undefined {
  for (const { signature, thoughtSignature, reasoningEncryptedContent, redactedData } of Object.values(metadata)) {
    const found = signature ?? thoughtSignature ?? reasoningEncryptedContent ?? redactedData;
    if (typeof found === "string") return found;
  }
  return undefined;
}

function describeBlock({ kind, metadata }: Block): { signature?: string; providerMetadata?: ProviderMetadata } {
  const providerMetadata = fromSdkMetadata(metadata);
  if (providerMetadata === undefined) return {};
  const signature = kind === "reasoning" ? findSignature(providerMetadata) : undefined;
  return { ...(signature !== undefined && { signature }), providerMetadata };
}

/** Text and reasoning: the SDK's blocks have ids and may overlap, ours follow each other. */
export class Blocks {
  readonly #blocks = new Map<string, Block>();
  #open: Block | undefined;

  start(part: BlockStart): void {
    this.#find(part);
  }

  delta(part: BlockDelta, out: StreamPart[]): void {
    const block = this.#find(part);
    if (part.delta === "") return;
    if (this.#open !== block) this.close(out);
    this.#open = block;
    block.state = "open";
    out.push({ type: block.kind === "text" ? "text-delta" : "reasoning-delta", delta: part.delta });
  }

  end(part: BlockEnd, out: StreamPart[]): void {
    const block = this.#find(part);
    this.#blocks.delete(this.#key(part));
    if (block === this.#open) this.close(out);
    else if (block.state === "empty" || part.providerMetadata !== undefined) this.#keepMetadata(block, out);
  }

  /** Ends the block in progress. */
  close(out: StreamPart[]): void {
    if (this.#open === undefined) return;
    out.push({ type: "block-end", ...describeBlock(this.#open) });
    this.#open.state = "closed";
    this.#open = undefined;
  }

  /** A block without text still counts when the vendor wants its data back: redacted reasoning, or a signature on its own. */
  #keepMetadata(block: Block, out: StreamPart[]): void {
    const described = describeBlock(block);
    const { providerMetadata } = described;
    if (providerMetadata === undefined) return;
    if (block.kind === "reasoning") out.push({ type: "content", content: { type: "reasoning", text: "", ...described } });
    else if (findSignature(providerMetadata) !== undefined) {
      out.push({ type: "content", content: { type: "text", text: "", providerMetadata } });
    }
  }

  #key(part: BlockPart): string {
    return `${part.type.startsWith("text") ? "text" : "reasoning"} ${part.id}`;
  }

  #find(part: BlockPart): Block {
    const key = this.#key(part);
    const kind = part.type.startsWith("text") ? "text" : "reasoning";
    const block = this.#blocks.get(key) ?? { kind, metadata: undefined, state: "empty" };
    this.#blocks.set(key, block);
    block.metadata = part.providerMetadata ?? block.metadata;
    return block;
  }
}
