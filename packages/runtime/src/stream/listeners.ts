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
  /** Most have one: a list of one is 56 bytes. */
  #first: Ear<E> | undefined;
  #others: readonly Ear<E>[] = NOBODY;
  #watching: readonly Listen<E>[] = NOBODY;
  #above: Above<E> | undefined;

  get isHeard(): boolean {
    return this.#first !== undefined;
  }

  /** Somebody is told, whether it counts as heard or not. */
  get isAttended(): boolean {
    return this.#first !== undefined || this.#watching.length > 0 || this.#above?.listeners.isAttended === true;
  }

  /** Gives the way to leave again. */
  add(listen: Listen<E> | Ear<E>): () => void {
    const ear = typeof listen === "function" ? { push: listen } : listen;
    if (this.#first === undefined) this.#first = ear;
    else this.#others = this.#others.concat(ear);
    return () => {
      const [first, ...others] = this.#ears.filter((each) => each !== ear);
      this.#first = first;
      this.#others = others;
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

  get #ears(): readonly Ear<E>[] {
    return this.#first === undefined ? NOBODY : [this.#first, ...this.#others];
  }

  tell(event: E): void {
    const others = this.#others;
    this.#first?.push(event);
    for (let index = 0; index < others.length; index++) others[index]?.push(event);
    const watching = this.#watching;
    for (let index = 0; index < watching.length; index++) watching[index]?.(event);
    if (this.#above?.listeners.isAttended === true) this.#above.pass(event);
  }

  clear(): void {
    this.#first = undefined;
    this.#others = NOBODY;
    this.#watching = NOBODY;
    this.#above = undefined;
  }
}
