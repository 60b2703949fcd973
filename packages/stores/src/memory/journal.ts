/** How far the journal was when a piece of work began. */
export interface Savepoint {
  readonly undo: number;
  readonly after: number;
}

/** How to take back what the running work has changed so far, and what to tell others once it stays. */
export class Journal {
  readonly #undo: (() => void)[] = [];
  #after: (() => void)[] = [];
  #depth = 0;
  #savepoint: Savepoint | undefined;

  /** Of the innermost work that is under way. */
  get savepoint(): Savepoint | undefined {
    return this.#savepoint;
  }

  begin(): Savepoint {
    this.#depth++;
    this.#savepoint = { undo: this.#undo.length, after: this.#after.length };
    return this.#savepoint;
  }

  /** The work is done; it stays when the work around it stays. */
  keep(): void {
    this.#depth--;
    this.#savepoint = undefined;
    if (this.#depth > 0) return;
    this.#undo.length = 0;
    if (this.#after.length === 0) return;
    const told = this.#after;
    this.#after = [];
    for (const tell of told) tell();
  }

  rollBack({ undo, after }: Savepoint): void {
    while (this.#undo.length > undo) this.#undo.pop()?.();
    this.#after.length = after;
    this.#depth--;
    this.#savepoint = undefined;
  }

  /** All of `work` or nothing of it. */
  atomically<T>(work: (journal: Journal) => T): T {
    const savepoint = this.begin();
    let result: T;
    try {
      result = work(this);
    } catch (thrown) {
      this.rollBack(savepoint);
      throw thrown;
    }
    this.keep();
    return result;
  }

  undo(step: () => void): void {
    this.#undo.push(step);
  }

  /** Runs once the outermost work is kept. */
  after(tell: () => void): void {
    this.#after.push(tell);
  }

  assign<T, Key extends keyof T>(target: T, key: Key, value: T[Key]): void {
    const before = target[key];
    target[key] = value;
    this.undo(() => {
      target[key] = before;
    });
  }

  set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    const before = map.get(key);
    map.set(key, value);
    this.undo(() => {
      if (before === undefined) map.delete(key);
      else map.set(key, before);
    });
  }

  delete<Key, Value>(map: Map<Key, Value>, key: Key): void {
    const before = map.get(key);
    if (before === undefined) return;
    map.delete(key);
    this.undo(() => map.set(key, before));
  }

  add<Value>(set: Set<Value>, value: Value): void {
    if (set.has(value)) return;
    set.add(value);
    this.undo(() => set.delete(value));
  }

  remove<Value>(set: Set<Value>, value: Value): void {
    if (set.delete(value)) this.undo(() => set.add(value));
  }

  push<Value>(list: Value[], value: Value): void {
    list.push(value);
    this.undo(() => list.pop());
  }
}
