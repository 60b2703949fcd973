const NOTHING = () => {};

/** What is asked of one thread is done in the order in which it was asked, one after the other: whoever asked first is first in its queue. */
export class Turns {
  /** Resolves when all that was asked so far is done; never rejects. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** `wait`: for those before. Where it rejects, the work is not done, and they keep their turns. */
  take<T>(key: string, work: () => Promise<T>, wait: (turn: Promise<unknown>) => Promise<unknown>): Promise<T> {
    const before = this.#last.get(key);
    const own = before === undefined ? work() : wait(before).then(work);
    const over = own.then(NOTHING, NOTHING);
    const all = before === undefined ? over : Promise.all([before, over]);
    this.#last.set(key, all);
    void all.then(() => {
      if (this.#last.get(key) === all) this.#last.delete(key);
    });
    return own;
  }
}
