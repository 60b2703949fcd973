/** What is there already, or comes. */
export type Late<T> = T | Promise<T>;

/** At once when it is there: nothing is awaited that need not be. */
export const whenThere = <T, U>(late: Late<T>, use: (value: T) => Late<U>): Late<U> =>
  late instanceof Promise ? late.then(use) : use(late);

/**
 * A part of the runtime that most programs do without, loaded when it is first needed. From then on it is there at once, without a promise.
 * What could not be loaded is asked for again by whoever needs it next.
 */
export class Door<Room> {
  readonly #load: () => Late<Room>;
  #room: Room | undefined;
  #loading: Promise<Room> | undefined;

  constructor(load: () => Late<Room>) {
    this.#load = load;
  }

  /** Undefined as long as nobody needed it. */
  get room(): Room | undefined {
    return this.#room;
  }

  open(): Late<Room> {
    const there = this.#room ?? this.#loading ?? this.#load();
    if (!(there instanceof Promise)) {
      this.#room = there;
      return there;
    }
    this.#loading ??= this.#enter(there);
    return this.#loading;
  }

  async #enter(loading: Promise<Room>): Promise<Room> {
    try {
      this.#room = await loading;
      return this.#room;
    } finally {
      this.#loading = undefined;
    }
  }
}
