/** One at a time, in the order of arrival. A failure of one is no failure of the next. */
export class Lock {
  #tail: Promise<unknown> | undefined;

  get isTaken(): boolean {
    return this.#tail !== undefined;
  }

  run<T>(work: () => Promise<T>): Promise<T> {
    const before = this.#tail;
    const mine = before === undefined ? work() : before.then(work, work);
    this.#tail = mine;
    const release = () => {
      if (this.#tail === mine) this.#tail = undefined;
    };
    mine.then(release, release);
    return mine;
  }
}
