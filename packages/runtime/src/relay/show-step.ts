import type { AgentEvent, Message } from "@awaken/contract";
import type { TurnPart } from "../inference/turn-part.ts";
import type { StepStart, StreamFact } from "../loop/step-progress.ts";
import type { StepSoFar } from "../loop/step-so-far.ts";

type Words = Extract<TurnPart, { type: "text" | "reasoning" }>;
type Call = Extract<TurnPart, { type: "call" }>;

const isWords = (part: TurnPart): part is Words => part.type !== "call";

/** Text that is interrupted by nothing is one text, however it came. */
function joined(parts: readonly TurnPart[]): readonly TurnPart[] {
  const all: TurnPart[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (part.type === "text" && last?.type === "text") all[all.length - 1] = { type: "text", text: last.text + part.text };
    else all.push(part);
  }
  return all;
}

/** What listeners hear of a turn that is on record: text as one delta. Calls that the vendor ran itself are not told. */
export function partsOf(turn: Message): readonly TurnPart[] {
  if (turn.role !== "assistant") return [];
  return turn.content.flatMap((part): readonly TurnPart[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type === "reasoning") {
      return [{ type: "reasoning", text: part.text, ...(part.signature === undefined ? undefined : { signature: part.signature }) }];
    }
    if (part.type !== "tool-call" || part.executed !== undefined) return [];
    return [{ type: "call", id: part.id, name: part.name, input: JSON.stringify(part.input) }];
  });
}

/** What one reader has been shown of a step, and what is missing of it. */
export class ShownStep {
  readonly start: StepStart;
  #isBegun = false;
  #facts = 0;
  #words: Words[] = [];
  readonly #calls = new Map<string, Call>();

  constructor(start: StepStart) {
    this.start = start;
  }

  /** What leads from what was shown to this. What cannot be gone on with is void: then it starts over. */
  advance(to: Omit<StepSoFar, "start">): readonly AgentEvent[] {
    const told: AgentEvent[] = this.#isBegun ? [] : [this.start];
    this.#isBegun = true;
    for (const fact of to.facts.slice(this.#facts)) told.push(this.#note(fact));
    const parts = joined(to.parts);
    if (!this.#isOnTheWayTo(parts))
      told.push(this.#note({ type: "stream-reset", reason: "the answer is another one than it began as" }, false));
    let at = 0;
    for (const part of parts) {
      if (isWords(part)) this.#say(part, at++, told);
      else this.#ask(part, told);
    }
    return told;
  }

  #note(fact: StreamFact, isCounted = true): StreamFact {
    if (isCounted) this.#facts += 1;
    if (fact.type === "stream-reset") {
      this.#words = [];
      this.#calls.clear();
    } else this.#calls.delete(fact.toolCallId);
    return fact;
  }

  #isOnTheWayTo(parts: readonly TurnPart[]): boolean {
    const words = parts.filter(isWords);
    return this.#words.every(({ type, text }, index) => {
      const there = words[index];
      return there?.type === type && there.text.startsWith(text);
    });
  }

  #say(part: Words, at: number, told: AgentEvent[]): void {
    const before = this.#words[at];
    const delta = part.text.slice(before?.text.length ?? 0);
    this.#words[at] = part;
    if (delta !== "") told.push({ type: part.type === "text" ? "text-delta" : "reasoning-delta", delta });
    const { signature } = part;
    if (signature !== undefined && before?.signature === undefined)
      told.push({ type: "reasoning-encrypted-value", encryptedValue: signature });
  }

  /** The record may spell the input in another way than the model did: then what was shown of it stays as it is. */
  #ask(part: Call, told: AgentEvent[]): void {
    const { id: toolCallId, name: toolName, input } = part;
    const before = this.#calls.get(toolCallId);
    if (before === undefined) told.push({ type: "tool-call-start", toolCallId, toolName });
    const shown = before?.input ?? "";
    const delta = input.startsWith(shown) ? input.slice(shown.length) : "";
    this.#calls.set(toolCallId, { ...part, input: shown + delta });
    if (delta !== "") told.push({ type: "tool-call-delta", toolCallId, delta });
  }
}
