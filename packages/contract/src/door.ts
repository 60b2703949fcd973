import { AwakenError, errorMessage } from "./error.ts";

/** What is there already, or comes. */
export type Late<T> = T | Promise<T>;

const notLoaded = (why: unknown): AwakenError =>
  AwakenError.is(why) ? why : new AwakenError("part_not_loaded", `a part is not loaded: ${errorMessage(why)}`, { cause: why });

const onTheirWay = new Set<Promise<unknown>>();

/** Waits until the parts that were asked for are there, or could not be loaded; answers whether there was one. A test's clock stands still meanwhile. */
export async function partsThere(): Promise<boolean> {
  const parts = [...onTheirWay];
  await Promise.allSettled(parts);
  return parts.length > 0;
}

/**
 * A part of ours that most programs do without, loaded when it is first needed. From then on it is there at once, without a promise. What could
 * not be loaded is asked for again by whoever needs it next.
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

  /** For those who ask for it only when it is there: what leads to it has opened it. */
  get here(): Room {
    const { room } = this;
    if (room === undefined) throw notLoaded("nobody asked for it");
    return room;
  }

  open(): Late<Room> {
    if (this.#room !== undefined) return this.#room;
    const there = this.#loading ?? this.#load();
    if (!(there instanceof Promise)) {
      this.#room = there;
      return there;
    }
    this.#loading ??= this.#enter(there);
    return this.#loading;
  }

  async #enter(loading: Promise<Room>): Promise<Room> {
    onTheirWay.add(loading);
    try {
      this.#room = await loading;
      return this.#room;
    } catch (thrown) {
      throw notLoaded(thrown);
    } finally {
      onTheirWay.delete(loading);
      this.#loading = undefined;
    }
  }
}
