import {
  type AgentEvent,
  type AssistantContent,
  addUsage,
  copyJson,
  type Log,
  NO_USAGE,
  type ProviderMetadata,
  type ResponseFacts,
  type StopReason,
  type StreamPart,
  type ToolCallContent,
  toolCallId,
} from "@awaken/contract";
import { sameJson } from "@awaken/contract/store";
import type { Ids } from "../stream/ids.ts";
import { type CallDraft, cutInput } from "./call-draft.ts";
import { type Block, type Entry, entriesText } from "./collected.ts";

export interface CollectorInit {
  emit(event: AgentEvent): void;
  readonly log: Log;
  /** For calls that the vendor gave no id. */
  readonly ids: Ids;
}

const NOTHING: readonly never[] = Object.freeze([]);

/**
 * Gathers what all streams of one logical inference said, in order, and passes each delta on as it comes.
 * Per text delta it does nothing but append and emit. What is kept of a part is copied: the vendor's object is the vendor's.
 */
export class Collector {
  usage = NO_USAGE;
  stopReason: StopReason | undefined;
  /** What the vendor said of its answer. */
  response: ResponseFacts | undefined;
  /** Text deltas, call starts and call deltas so far: the pulse of stream checkpoints. */
  beats = 0;
  /** Undefined before the first: most answers have one, and a list that grows has room for sixteen more. */
  #entries: Entry[] | undefined;
  #calls: Map<string, CallDraft> | undefined;
  #open: Block | undefined;
  readonly #init: CollectorInit;

  constructor(init: CollectorInit) {
    this.#init = init;
  }

  add(part: StreamPart): void {
    switch (part.type) {
      case "text-delta":
        if (part.delta === "") return;
        this.beats += 1;
        this.#block("text").text += part.delta;
        this.#init.emit(part);
        return;
      case "reasoning-delta":
        // An empty delta opens a block too: a vendor may sign reasoning that it does not show.
        this.#block("reasoning").text += part.delta;
        if (part.delta !== "") this.#init.emit(part);
        return;
      case "tool-call-start":
        this.#start(part.id, part.name, part.executed === undefined);
        return;
      case "tool-call-delta":
        this.#extend(part.id, part.delta);
        return;
      case "block-end":
        this.#endBlock(part);
        return;
      case "tool-call-metadata":
        this.#draft(part.id).providerMetadata = copyJson(part.providerMetadata);
        return;
      case "content":
        this.#addWhole(part.content);
        return;
      case "usage":
        this.usage = addUsage(this.usage, part.usage);
        return;
      case "response": {
        const { type: _type, ...facts } = part;
        this.response = copyJson(facts);
        return;
      }
      case "stop":
        this.stopReason = part.reason;
        return;
      case "warning":
        this.#init.log.warn("the provider warns about a request", { message: part.message });
        return;
      case "source":
        return;
    }
  }

  get text(): string {
    return entriesText(this.entries);
  }

  /** What has come so far. */
  get entries(): readonly Entry[] {
    return this.#entries ?? NOTHING;
  }

  /** Lets go of everything but these, and the usage, which was paid for. What follows begins a new block. */
  startOver(entries?: Entry[]): void {
    this.#entries = entries;
    this.#calls = undefined;
    this.#open = undefined;
    this.stopReason = undefined;
  }

  #add(entry: Entry): void {
    if (this.#entries === undefined) this.#entries = [entry];
    else this.#entries.push(entry);
  }

  #block(type: Block["type"]): Block {
    const open = this.#open;
    if (open !== undefined && open.type === type) return open;
    const block: Block = { type, text: "", signature: undefined, providerMetadata: undefined };
    this.#add(block);
    this.#open = block;
    return block;
  }

  #endBlock({ signature, providerMetadata }: { readonly signature?: string; readonly providerMetadata?: ProviderMetadata }): void {
    const block = this.#open ?? (signature === undefined ? undefined : this.#block("reasoning"));
    this.#open = undefined;
    if (block === undefined) return;
    block.signature = signature;
    block.providerMetadata = copyJson(providerMetadata);
    if (signature !== undefined) this.#init.emit({ type: "reasoning-encrypted-value", encryptedValue: signature });
  }

  #draft(id: string): CallDraft {
    return this.#calls?.get(id) ?? this.#newDraft(id, true);
  }

  #newDraft(id: string, isOurs: boolean): CallDraft {
    const ownId = toolCallId(id.trim() === "" || this.#calls?.has(id) === true ? this.#init.ids() : id);
    const draft: CallDraft = {
      type: "call",
      id: ownId,
      name: "",
      input: "",
      isOurs,
      isClosed: false,
      isWhole: false,
      providerMetadata: undefined,
    };
    this.#calls ??= new Map();
    this.#calls.set(id, draft);
    this.#add(draft);
    return draft;
  }

  /** A call that comes again under its id while its input is on its way is the same call; after that, or without an id, it is another. */
  #start(id: string, name: string, isOurs: boolean): void {
    const known = id.trim() === "" ? undefined : this.#calls?.get(id);
    const isOther = known?.isOurs === true && name !== "" && cutInput(known) !== undefined;
    const draft = known === undefined || isOther ? this.#newDraft(id, isOurs) : known;
    if (draft.name !== "") {
      draft.isClosed ||= cutInput(draft) !== undefined;
      return;
    }
    if (name === "") return;
    draft.name = name;
    this.beats += 1;
    if (!draft.isOurs) return;
    this.#init.emit({ type: "tool-call-start", toolCallId: draft.id, toolName: name });
    if (draft.input !== "") this.#init.emit({ type: "tool-call-delta", toolCallId: draft.id, delta: draft.input });
  }

  #extend(id: string, delta: string): void {
    const draft = this.#draft(id);
    if (draft.isClosed || delta === "") return;
    draft.input += delta;
    this.beats += 1;
    if (draft.isOurs && draft.name !== "") this.#init.emit({ type: "tool-call-delta", toolCallId: draft.id, delta });
  }

  #addWhole(content: AssistantContent): void {
    if (content.type === "tool-call") this.#addWholeCall(content);
    else if (content.type === "text" || content.type === "reasoning") {
      this.#open = undefined;
      this.add({ type: `${content.type}-delta`, delta: content.text });
      this.#endBlock(content);
    } else this.#add({ type: "whole", content: copyJson(content) });
  }

  /** The last word about a call whose input was streamed, or a call that comes in one piece. */
  #addWholeCall({ id, name, input, executed, providerMetadata }: ToolCallContent): void {
    const streamed = this.#calls?.get(id);
    const isSaid = streamed?.isWhole === false && streamed.name === name && sameJson(cutInput(streamed), input);
    if (!isSaid) {
      this.#start(id, name, executed === undefined);
      this.#extend(id, JSON.stringify(input));
    }
    const draft = this.#draft(id);
    draft.isWhole = true;
    if (providerMetadata !== undefined) draft.providerMetadata = copyJson(providerMetadata);
  }
}
