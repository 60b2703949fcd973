import { Table } from "./at-rest.ts";

/** How far the journal was when a piece of work began. */
export interface Savepoint {
  readonly undo: number;
  readonly after: number;
}

/** A list that is longer grows by the rules of the engine, which keep room for sixteen more. */
const SHORT = 4;
/** What most commits note. */
const ROOM = 128;

/** A list that nothing was put into yet: one for all. What is added makes another. */
export const NONE: never[] = [];

/** As `concat`, which takes five times as long for a few items. */
function joined<Value extends {}>(list: readonly Value[], values: readonly Value[]): Value[] {
  const size = list.length;
  const all = new Array<Value>(size + values.length);
  for (let index = 0; index < all.length; index++) {
    const value = index < size ? list[index] : values[index - size];
    if (value !== undefined) all[index] = value;
  }
  return all;
}

interface Rows<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): unknown;
  delete(key: Key): unknown;
}

/** Where something was changed, at which key, and what was there before. */
function revert(target: unknown, key: unknown, before: unknown): void {
  if (target instanceof Map || target instanceof Table) {
    if (before === undefined) target.delete(key);
    else target.set(key, before);
  } else if (target instanceof Set) {
    if (before === true) target.add(key);
    else target.delete(key);
  } else if (typeof target === "object" && target !== null && typeof key === "string") Reflect.set(target, key, before);
}

/** How to take back what the running work has changed so far, and what to tell others once it stays. */
export class Journal {
  /** Target, key and what was there before, one after the other: every write adds to it, so nothing is made for a step. */
  readonly #undo: unknown[] = [];
  #size = 0;
  #after: (() => void)[] = [];
  #depth = 0;

  begin(): Savepoint {
    this.#depth++;
    return { undo: this.#size, after: this.#after.length };
  }

  /** The work is done; it stays when the work around it stays. */
  keep(): void {
    this.#depth--;
    if (this.#depth > 0) return;
    this.#forget(0);
    if (this.#after.length === 0) return;
    const told = this.#after;
    this.#after = [];
    for (const tell of told) tell();
  }

  rollBack({ undo, after }: Savepoint): void {
    for (let at = this.#size - 3; at >= undo; at -= 3) revert(this.#undo[at], this.#undo[at + 1], this.#undo[at + 2]);
    this.#forget(undo);
    this.#after.length = after;
    this.#depth--;
  }

  /** All of `work` or nothing of it. */
  atomically<T>(work: (journal: Journal) => T): T {
    const undo = this.#size;
    const after = this.#after.length;
    this.#depth++;
    let result: T;
    try {
      result = work(this);
    } catch (thrown) {
      this.rollBack({ undo, after });
      throw thrown;
    }
    this.keep();
    return result;
  }

  /** Runs once the outermost work is kept. */
  after(tell: () => void): void {
    this.#after.push(tell);
  }

  assign<T extends object, Key extends keyof T & string>(target: T, key: Key, value: T[Key]): void {
    this.#note(target, key, target[key]);
    target[key] = value;
  }

  /** As `assign`, for what every commit writes: the caller does so itself, right after it, which is quicker than by a key. */
  keepField<T extends object, Key extends keyof T & string>(target: T, key: Key, before: T[Key]): void {
    this.#note(target, key, before);
  }

  set<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
    this.put(map, key, value, map.get(key));
  }

  /** The same for a caller who knows what is there, or that nothing is. */
  put<Key, Value>(map: Pick<Rows<Key, Value>, "set">, key: Key, value: Value, before: Value | undefined): void {
    this.#note(map, key, before);
    map.set(key, value);
  }

  delete<Key, Value>(map: Omit<Rows<Key, Value>, "set">, key: Key): void {
    const before = map.get(key);
    if (before === undefined) return;
    this.#note(map, key, before);
    map.delete(key);
  }

  add<Value>(set: Set<Value>, value: Value): void {
    if (set.has(value)) return;
    this.#note(set, value, false);
    set.add(value);
  }

  remove<Value>(set: Set<Value>, value: Value): void {
    if (set.delete(value)) this.#note(set, value, true);
  }

  push<Value>(list: Value[], value: Value): void {
    this.#note(list, "length", list.length);
    list.push(value);
  }

  /** The list with more behind it, which is handed over. A short one is left as it is: the new one takes no more room than its items. */
  extended<Value extends {}>(list: Value[], values: Value[], short = SHORT): Value[] {
    if (list.length === 0) return values;
    if (list.length < short) return joined(list, values);
    this.#note(list, "length", list.length);
    for (const value of values) list.push(value);
    return list;
  }

  #note(target: unknown, key: unknown, before: unknown): void {
    const size = this.#size;
    this.#undo[size] = target;
    this.#undo[size + 1] = key;
    this.#undo[size + 2] = before;
    this.#size = size + 3;
  }

  /** What was noted from a place on. The room stays for the next work, unless it was more than usual. */
  #forget(from: number): void {
    if (this.#undo.length > ROOM) this.#undo.length = from;
    else for (let index = from; index < this.#size; index++) this.#undo[index] = undefined;
    this.#size = from;
  }
}
