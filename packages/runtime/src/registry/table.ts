/** Entries to set, and to remove where the value is undefined. */
export type TableChanges<V> = ReadonlyMap<string, V | undefined>;

const NO_CHANGES: TableChanges<never> = new Map();
const MIN_PENDING = 32;

/** More pending entries than this are folded in, so that both an edit and a fold stay cheap on average. */
const maxPending = (size: number): number => Math.max(MIN_PENDING, Math.sqrt(size));

function merge<V>(base: ReadonlyMap<string, V>, changes: TableChanges<V>): ReadonlyMap<string, V> {
  const merged = new Map(base);
  for (const [id, value] of changes) value === undefined ? merged.delete(id) : merged.set(id, value);
  return merged;
}

/** A map that nobody can change, in the order of registration. An edit makes a new one and costs what it changes, not what is there. */
export class Table<V extends object> implements ReadonlyMap<string, V> {
  /** Shared between tables and never written to. */
  #base: ReadonlyMap<string, V>;
  /** Lies over the base; undefined hides an entry of it. */
  #pending: TableChanges<V>;
  readonly size: number;

  private constructor(base: ReadonlyMap<string, V>, pending: TableChanges<V> = NO_CHANGES) {
    this.#base = base;
    this.#pending = pending;
    let size = base.size;
    for (const [id, value] of pending) size += (value === undefined ? 0 : 1) - (base.has(id) ? 1 : 0);
    this.size = size;
    Object.freeze(this);
  }

  static of<V extends object>(entries: Iterable<readonly [string, V]>): Table<V> {
    return new Table(new Map(entries));
  }

  with(changes: TableChanges<V>): Table<V> {
    if (this.#mustFold(changes)) return new Table(merge(this.#fold(), changes));
    const pending = new Map(this.#pending);
    for (const [id, value] of changes) value === undefined && !this.#base.has(id) ? pending.delete(id) : pending.set(id, value);
    return new Table(this.#base, pending);
  }

  /** An entry that was removed and comes back belongs at the end, not in its old place. */
  #mustFold(changes: TableChanges<V>): boolean {
    if (this.#pending.size + changes.size > maxPending(this.#base.size)) return true;
    for (const [id, value] of changes) if (value !== undefined && this.#base.has(id) && !this.has(id)) return true;
    return false;
  }

  /** The same entries as one map. Whoever reads all of them pays for it once. */
  #fold(): ReadonlyMap<string, V> {
    if (this.#pending.size > 0) this.#base = merge(this.#base, this.#pending);
    this.#pending = NO_CHANGES;
    return this.#base;
  }

  get(id: string): V | undefined {
    return this.#pending.has(id) ? this.#pending.get(id) : this.#base.get(id);
  }

  has(id: string): boolean {
    return this.get(id) !== undefined;
  }

  entries(): MapIterator<[string, V]> {
    return this.#fold().entries();
  }

  keys(): MapIterator<string> {
    return this.#fold().keys();
  }

  values(): MapIterator<V> {
    return this.#fold().values();
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }

  forEach(visit: (value: V, id: string, table: ReadonlyMap<string, V>) => void): void {
    for (const [id, value] of this) visit(value, id, this);
  }
}
