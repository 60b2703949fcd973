import { errorMessage } from "@awaken/contract";
import type { Skill } from "./types.ts";

/** A server is asked again after this. */
const FRESH_MS = 30_000;

/** The prompts of one server as skills. It is waited for once: afterwards what is known is given, and the next list is made meanwhile. */
export class ServerPrompts {
  readonly #load: () => Promise<readonly Skill[]>;
  #skills: readonly Skill[] = [];
  #problem: string | undefined;
  #askedAt: number | undefined;
  #asking: Promise<void> | undefined;
  #isAnswered = false;

  constructor(load: () => Promise<readonly Skill[]>) {
    this.#load = load;
  }

  /** As far as they are known. */
  get skills(): readonly Skill[] {
    return this.#skills;
  }

  /** Why the last list could not be had. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Never rejects. */
  async refresh(now: number): Promise<void> {
    if (this.#askedAt === undefined || now - this.#askedAt >= FRESH_MS) {
      this.#askedAt = now;
      this.#asking ??= this.#ask();
    }
    if (!this.#isAnswered) await this.#asking;
  }

  async #ask(): Promise<void> {
    try {
      this.#skills = await this.#load();
      this.#problem = undefined;
    } catch (thrown) {
      this.#problem = errorMessage(thrown);
    }
    this.#isAnswered = true;
    this.#asking = undefined;
  }
}
