import type { AgUiFrame } from "./frame.ts";
import { nthId } from "./messages.ts";

/** Text and thought of one step: what is open is closed before something else is opened. */
export class Words {
  readonly #say: (frame: AgUiFrame) => void;
  #stepId = "";
  #texts: { readonly id: string; text: string }[] = [];
  #count = 0;
  #thoughts = 0;
  #isTextOpen = false;
  #thought: string | undefined;

  constructor(say: (frame: AgUiFrame) => void) {
    this.#say = say;
  }

  /** How many texts the step has. */
  get count(): number {
    return this.#count;
  }

  newStep(messageId: string): void {
    this.#stepId = messageId;
    this.#texts = [];
    this.#count = 0;
    this.#thoughts = 0;
  }

  text(delta: string): void {
    if (delta === "") return;
    this.#closeThought();
    if (!this.#isTextOpen) {
      this.#isTextOpen = true;
      const id = nthId(this.#stepId, this.#count);
      this.#count += 1;
      this.#texts.push({ id, text: "" });
      this.#say({ type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" });
    }
    const open = this.#texts.at(-1);
    if (open === undefined) return;
    open.text += delta;
    this.#say({ type: "TEXT_MESSAGE_CONTENT", messageId: open.id, delta });
  }

  reasoning(delta: string): void {
    if (delta === "") return;
    this.#closeText();
    this.#say({ type: "REASONING_MESSAGE_CONTENT", messageId: this.#openThought(), delta });
  }

  encrypted(encryptedValue: string): void {
    const entityId = this.#thought ?? this.#thoughtId(Math.max(this.#thoughts, 1));
    this.#say({ type: "REASONING_ENCRYPTED_VALUE", subtype: "message", entityId, encryptedValue });
  }

  close(): void {
    this.#closeText();
    this.#closeThought();
  }

  /** The texts that are over, once. */
  take(): readonly { readonly id: string; readonly text: string }[] {
    return this.#isTextOpen ? [] : this.#texts.splice(0);
  }

  #thoughtId(n: number): string {
    return `reasoning_${this.#stepId}${n === 1 ? "" : `_${n}`}`;
  }

  #openThought(): string {
    if (this.#thought !== undefined) return this.#thought;
    this.#thoughts += 1;
    const messageId = this.#thoughtId(this.#thoughts);
    this.#thought = messageId;
    this.#say({ type: "REASONING_START", messageId });
    this.#say({ type: "REASONING_MESSAGE_START", messageId, role: "reasoning" });
    return messageId;
  }

  #closeText(): void {
    const open = this.#texts.at(-1);
    if (this.#isTextOpen && open !== undefined) this.#say({ type: "TEXT_MESSAGE_END", messageId: open.id });
    this.#isTextOpen = false;
  }

  #closeThought(): void {
    if (this.#thought === undefined) return;
    const messageId = this.#thought;
    this.#thought = undefined;
    this.#say({ type: "REASONING_MESSAGE_END", messageId });
    this.#say({ type: "REASONING_END", messageId });
  }
}
