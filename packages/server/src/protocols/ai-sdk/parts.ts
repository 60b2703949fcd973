import type { Chunk } from "./chunk.ts";

/** Text, thought and steps of one message: what is open is closed before something else is opened. */
export class Parts {
  readonly #say: (chunk: Chunk) => void;
  #texts = 0;
  #thoughts = 0;
  #text: string | undefined;
  #thought: string | undefined;
  #lastThought = "";
  #stepId = "";
  #isStepOpen = false;
  #isStepEmpty = true;

  constructor(say: (chunk: Chunk) => void) {
    this.#say = say;
  }

  get isStepOpen(): boolean {
    return this.#isStepOpen;
  }

  /** Ids count from the beginning again: they are unique in their message. */
  newMessage(): void {
    this.#texts = 0;
    this.#thoughts = 0;
    this.#text = undefined;
    this.#thought = undefined;
    this.#isStepOpen = false;
  }

  openStep(messageId: string): void {
    this.#thoughts = 0;
    this.#stepId = messageId;
    // What was begun and taken back is begun again.
    if (this.#isStepOpen && this.#isStepEmpty) return;
    this.closeStep();
    this.#isStepOpen = true;
    this.#isStepEmpty = true;
    this.#say({ type: "start-step" });
  }

  closeStep(): void {
    this.closeWords();
    if (!this.#isStepOpen) return;
    this.#isStepOpen = false;
    this.#say({ type: "finish-step" });
  }

  text(delta: string): void {
    this.#closeThought();
    this.#isStepEmpty = false;
    if (this.#text === undefined) {
      this.#text = `txt_${this.#texts}`;
      this.#texts += 1;
      this.#say({ type: "text-start", id: this.#text });
    }
    this.#say({ type: "text-delta", id: this.#text, delta });
  }

  reasoning(delta: string): void {
    this.#closeText();
    this.#isStepEmpty = false;
    if (this.#thought === undefined) {
      this.#thought = this.#nextThought();
      this.#say({ type: "reasoning-start", id: this.#thought });
    }
    this.#say({ type: "reasoning-delta", id: this.#thought, delta });
  }

  encrypted(encryptedValue: string): void {
    const id = this.#thought ?? (this.#lastThought === "" ? `reasoning_${this.#stepId}` : this.#lastThought);
    this.#say({ type: "data-reasoning-encrypted", id, data: { encryptedValue }, transient: true });
  }

  closeWords(): void {
    this.#closeText();
    this.#closeThought();
  }

  /** Something else than words is in the step. */
  touch(): void {
    this.#isStepEmpty = false;
  }

  /** The step is taken back: nothing of it is named again. */
  forget(): void {
    this.#text = undefined;
    this.#thought = undefined;
    this.#isStepEmpty = true;
  }

  #nextThought(): string {
    this.#thoughts += 1;
    this.#lastThought = `reasoning_${this.#stepId}${this.#thoughts === 1 ? "" : `_${this.#thoughts}`}`;
    return this.#lastThought;
  }

  #closeText(): void {
    if (this.#text === undefined) return;
    this.#say({ type: "text-end", id: this.#text });
    this.#text = undefined;
  }

  #closeThought(): void {
    if (this.#thought === undefined) return;
    this.#say({ type: "reasoning-end", id: this.#thought });
    this.#thought = undefined;
  }
}
