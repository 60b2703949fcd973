export type Listen<E> = (event: E) => void;

/** Takes what happens. */
export interface Ear<E> {
  push(event: E): void;
}

/** Somebody who is told of what happens, and may leave before it is over. */
export interface Hearer<E> extends Ear<E> {
  /** Calls back when he leaves, at once if he has, until what it gives is called. For whoever feeds him: there is one. */
  onDetach(left: () => void): () => void;
}

const NOBODY: readonly never[] = Object.freeze([]);

interface Above<E> {
  readonly listeners: Listeners<E>;
  readonly pass: Listen<E>;
}

/** Whoever follows something while it happens: each hears what is told from then on, in the order in which they came. */
export class Listeners<E> {
  #all: readonly Ear<E>[] = NOBODY;
  #watching: readonly Listen<E>[] = NOBODY;
  #above: Above<E> | undefined;

  get isHeard(): boolean {
    return this.#all.length > 0;
  }

  /** Somebody is told, whether it counts as heard or not. */
  get isAttended(): boolean {
    return this.#all.length + this.#watching.length > 0 || this.#above?.listeners.isAttended === true;
  }

  /** Gives the way to leave again. */
  add(listen: Listen<E> | Ear<E>): () => void {
    const ear = typeof listen === "function" ? { push: listen } : listen;
    // A list that is joined has room for its items alone; one that grows has room for sixteen.
    this.#all = this.#all.length === 0 ? [ear] : this.#all.concat(ear);
    return () => {
      this.#all = this.#all.filter((each) => each !== ear);
    };
  }

  /** Hears the same, and does not count as heard: nothing is made for it that nobody else listens to. */
  watch(listen: Listen<E>): () => void {
    this.#watching = this.#watching.concat(listen);
    return () => {
      this.#watching = this.#watching.filter((each) => each !== listen);
    };
  }

  /** Hears the same while somebody is told by those above, whom it tells. */
  passUp(listeners: Listeners<E>, pass: Listen<E>): void {
    this.#above = { listeners, pass };
  }

  tell(event: E): void {
    const all = this.#all;
    for (let index = 0; index < all.length; index++) all[index]?.push(event);
    const watching = this.#watching;
    for (let index = 0; index < watching.length; index++) watching[index]?.(event);
    if (this.#above?.listeners.isAttended === true) this.#above.pass(event);
  }

  clear(): void {
    this.#all = NOBODY;
    this.#watching = NOBODY;
    this.#above = undefined;
  }
}
