import { AwakenError } from "@awaken/contract";
import { atOnce } from "@awaken/contract/store";
import { Journal } from "./journal.ts";

/** Work on the tables, one piece after the other. */
export interface Runner {
  read<T>(work: () => T): Promise<T>;
  /** All of `work` or nothing of it. */
  write<T>(work: (journal: Journal) => T): Promise<T>;
  /** The same for work that takes time: it has its place in the line from here on. */
  transaction<T>(work: (inside: Runner) => Promise<T>): Promise<T>;
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
}

function attempt<T>(work: () => T): Promise<T> {
  try {
    return Promise.resolve(work());
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

function attemptAll<T>(journal: Journal, work: (journal: Journal) => T): Promise<T> {
  try {
    return atOnce(journal.atomically(work));
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/**
 * The door to the tables. Work is synchronous and therefore alone; only a transaction lasts longer, and while it does, everybody else
 * waits in line, readers too, so that nobody sees half of it.
 */
export class Gate implements Runner {
  readonly #journal = new Journal();
  readonly #line: (() => void)[] = [];
  readonly #closing = new AbortController();
  #isHeld = false;
  #closed: Promise<void> | undefined;

  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  read<T>(work: () => T): Promise<T> {
    return this.#isOpen ? attempt(work) : this.#enter(() => attempt(work));
  }

  write<T>(work: (journal: Journal) => T): Promise<T> {
    return this.#isOpen ? attemptAll(this.#journal, work) : this.#enter(() => attemptAll(this.#journal, work));
  }

  transaction<T>(work: (inside: Runner) => Promise<T>): Promise<T> {
    return this.#enter(() => this.#hold(work));
  }

  /** What came before is still done. */
  close(): Promise<void> {
    if (this.#closed !== undefined) return this.#closed;
    this.#closed = this.#enter(() => {
      this.#closing.abort();
      return Promise.resolve();
    });
    return this.#closed;
  }

  get #isOpen(): boolean {
    return !this.#isHeld && this.#closed === undefined;
  }

  #enter<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) return Promise.reject(new AwakenError("storage_io", "the store is closed"));
    if (!this.#isHeld) return work();
    return new Promise((resolve) => {
      this.#line.push(() => resolve(work()));
    });
  }

  async #hold<T>(work: (inside: Runner) => Promise<T>): Promise<T> {
    this.#isHeld = true;
    const inside = new Inside(this.#journal, this.closing);
    const savepoint = this.#journal.begin();
    let isKept = false;
    try {
      const result = await work(inside);
      isKept = true;
      return result;
    } finally {
      inside.end();
      if (isKept) this.#journal.keep();
      else this.#journal.rollBack(savepoint);
      this.#leave();
    }
  }

  #leave(): void {
    this.#isHeld = false;
    while (!this.#isHeld) {
      const next = this.#line.shift();
      if (next === undefined) return;
      next();
    }
  }
}

/** The way of the transaction that holds the gate. */
class Inside implements Runner {
  readonly closing: AbortSignal;
  readonly #journal: Journal;
  #isOver = false;

  constructor(journal: Journal, closing: AbortSignal) {
    this.#journal = journal;
    this.closing = closing;
  }

  read<T>(work: () => T): Promise<T> {
    return this.#isOver ? this.#refuse() : attempt(work);
  }

  write<T>(work: (journal: Journal) => T): Promise<T> {
    return this.#isOver ? this.#refuse() : attemptAll(this.#journal, work);
  }

  transaction<T>(work: (inside: Runner) => Promise<T>): Promise<T> {
    return this.#isOver ? this.#refuse() : work(this);
  }

  end(): void {
    this.#isOver = true;
  }

  #refuse(): Promise<never> {
    return Promise.reject(new AwakenError("storage_io", "the transaction of these ports is over"));
  }
}
