export type Listen<E> = (event: E) => void;

const NOBODY: readonly never[] = Object.freeze([]);

/** Whoever follows something while it happens: each hears what is told from then on, in the order in which they came. */
export class Listeners<E> {
  #all: readonly Listen<E>[] = NOBODY;
  #watching: readonly Listen<E>[] = NOBODY;

  get isHeard(): boolean {
    return this.#all.length > 0;
  }

  /** Somebody is told, whether it counts as heard or not. */
  get isAttended(): boolean {
    return this.#all.length + this.#watching.length > 0;
  }

  /** Gives the way to leave again. */
  add(listen: Listen<E>): () => void {
    this.#all = [...this.#all, listen];
    return () => {
      this.#all = this.#all.filter((each) => each !== listen);
    };
  }

  /** Hears the same, and does not count as heard: nothing is made for it that nobody else listens to. */
  watch(listen: Listen<E>): () => void {
    this.#watching = [...this.#watching, listen];
    return () => {
      this.#watching = this.#watching.filter((each) => each !== listen);
    };
  }

  tell(event: E): void {
    const all = this.#all;
    for (let index = 0; index < all.length; index++) all[index]?.(event);
    const watching = this.#watching;
    for (let index = 0; index < watching.length; index++) watching[index]?.(event);
  }

  clear(): void {
    this.#all = NOBODY;
    this.#watching = NOBODY;
  }
}
