export type Listen<E> = (event: E) => void;

const NOBODY: readonly never[] = Object.freeze([]);

/** Whoever follows something while it happens: each hears what is told from then on, in the order in which they came. */
export class Listeners<E> {
  #all: readonly Listen<E>[] = NOBODY;

  get isHeard(): boolean {
    return this.#all.length > 0;
  }

  /** Gives the way to leave again. */
  add(listen: Listen<E>): () => void {
    this.#all = [...this.#all, listen];
    return () => {
      this.#all = this.#all.filter((each) => each !== listen);
    };
  }

  tell(event: E): void {
    for (const listen of this.#all) listen(event);
  }

  clear(): void {
    this.#all = NOBODY;
  }
}
