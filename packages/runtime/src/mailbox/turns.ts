/** What is asked of one thread is done in the order in which it was asked, one after the other: whoever asked first is first in its queue. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const own = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, own);
    const leave = () => {
      if (this.#last.get(key) === own) this.#last.delete(key);
    };
    own.then(leave, leave);
    return own;
  }
}
