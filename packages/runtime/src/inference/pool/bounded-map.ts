/** A map that forgets what was not used for longest, except what is pinned. */
export class BoundedMap<V> {
  readonly #entries = new Map<string, V>();
  readonly #limit: number;
  readonly #isPinned: (value: V) => boolean;

  constructor(limit: number, isPinned: (value: V) => boolean = () => false) {
    this.#limit = limit;
    this.#isPinned = isPinned;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Counts as a use. */
  get(key: string): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined || this.#entries.size === 1) return value;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  getOrCreate(key: string, create: () => V): V {
    const known = this.get(key);
    if (known !== undefined) return known;
    const value = create();
    this.#entries.set(key, value);
    if (this.#entries.size > this.#limit) this.#evict(key);
    return value;
  }

  /** Puts another value in the place of a known one. */
  replace(key: string, value: V): V {
    this.#entries.set(key, value);
    return value;
  }

  #evict(newest: string): void {
    for (const [key, value] of this.#entries) {
      if (key === newest || this.#isPinned(value)) continue;
      this.#entries.delete(key);
      return;
    }
  }
}
