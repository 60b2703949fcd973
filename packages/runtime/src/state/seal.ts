import { AwakenError } from "@awaken/contract";
import type { AnyStateKey } from "./key.ts";

/** Deeper values overflow the stack of `JSON.stringify` somewhere down the line. */
const MAX_DEPTH = 512;

interface Problem {
  readonly path: string;
  readonly what: string;
}

/** A list or a literal, of any realm. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const childOf = (value: unknown, name: string): unknown => (isObject(value) ? Reflect.get(value, name) : undefined);

function leafProblem(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : `the number ${value}`;
    default:
      return value === null ? undefined : `a value of type ${typeof value}`;
  }
}

const within = (name: string, problem: Problem): Problem => ({
  path: problem.path === "" ? name : `${name}.${problem.path}`,
  what: problem.what,
});

/** Seals one value: `done` holds what this walk has been through, so that an object with many owners is visited once. */
class JsonSeal {
  #done: Set<object> | undefined;

  /** `before` is the sealed value that had the same place: what is the same object was visited in its time. */
  visit(value: unknown, before: unknown, depth: number): Problem | undefined {
    if (!isObject(value)) {
      const what = leafProblem(value);
      return what === undefined ? undefined : { path: "", what };
    }
    if (value === before || this.#done?.has(value)) return undefined;
    if (!isPlain(value)) return { path: "", what: `a ${value.constructor?.name ?? "class"} object` };
    if (depth > MAX_DEPTH) return { path: "…", what: "a value nested too deeply, or in a cycle," };
    const problem = Array.isArray(value) ? this.#visitList(value, before, depth + 1) : this.#visitObject(value, before, depth + 1);
    if (problem !== undefined) return problem;
    Object.freeze(value);
    const isEmpty = Array.isArray(value) && value.length === 0;
    if (depth > 0 && !isEmpty) this.#done = (this.#done ?? new Set()).add(value);
    return undefined;
  }

  #visitList(list: readonly unknown[], before: unknown, depth: number): Problem | undefined {
    const old: readonly unknown[] = Array.isArray(before) ? before : [];
    let end = list.length;
    // What stands at the end of both has only moved because something before it came or went.
    for (let oldEnd = old.length; end > 0 && oldEnd > 0 && list[end - 1] === old[oldEnd - 1]; oldEnd--) end--;
    for (let index = 0; index < end; index++) {
      const problem = this.visit(list[index], old[index], depth);
      if (problem !== undefined) return within(String(index), problem);
    }
    return undefined;
  }

  #visitObject(value: object, before: unknown, depth: number): Problem | undefined {
    for (const name of Object.keys(value)) {
      const child = childOf(value, name);
      // As JSON.stringify does: such a property is not there.
      if (child === undefined) continue;
      const problem = this.visit(child, childOf(before, name), depth);
      if (problem !== undefined) return within(name, problem);
    }
    return undefined;
  }
}

/** Cycles are fine here. What is not plain, such as a Map, cannot be frozen and stays the reducer's responsibility. */
function freezeAll(root: unknown, before: unknown): void {
  const done = new Set<object>();
  const open = [{ value: root, before }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, before: old } = next;
    if (!isObject(value) || value === old || done.has(value) || !isPlain(value)) continue;
    done.add(value);
    Object.freeze(value);
    for (const name of Object.keys(value)) open.push({ value: childOf(value, name), before: childOf(old, name) });
  }
}

/**
 * Freezes a value for good, and checks on the way that a persistent one is plain JSON. Of what the value shares with the sealed
 * one before it nothing is visited, so an update costs what it added.
 */
export function seal(key: string, value: unknown, before: unknown, mustBeJson: boolean): void {
  if (!mustBeJson) freezeAll(value, before);
  const problem = mustBeJson ? new JsonSeal().visit(value, before, 0) : undefined;
  if (problem === undefined) return;
  const path = problem.path.length > 200 ? `${problem.path.slice(0, 200)}…` : problem.path;
  throw new AwakenError("key_encode", `state key '${key}'${path === "" ? "" : ` at '${path}'`}: ${problem.what} is not plain JSON`, {
    details: { key, path },
  });
}

/** A value that a key made out of the one before: there, frozen, and plain JSON if the key is persistent. Its schema is asked later. */
export function sealMade(key: AnyStateKey, what: string, value: unknown, before: unknown): void {
  if (value === undefined) {
    throw new AwakenError("reducer_failed", `state key '${key.name}': ${what} returned undefined`, { details: { key: key.name } });
  }
  seal(key.name, value, before, key.persistent);
}
