import { AwakenError } from "@awaken/contract";

/** Deeper values overflow the stack of `JSON.stringify` somewhere down the line. */
const MAX_DEPTH = 512;

interface Problem {
  readonly path: string;
  readonly what: string;
}

/** What is frozen to the bottom; of that, `checked` is also known to be plain JSON. An object may be frozen by others only at its top. */
const frozen = new WeakSet<object>();
const checked = new WeakSet<object>();

/** A list or a literal, of any realm. */
function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

function leafProblem(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : `the number ${value}`;
    default:
      return `a value of type ${typeof value}`;
  }
}

const within = (name: string, problem: Problem): Problem => ({
  path: problem.path === "" ? name : `${name}.${problem.path}`,
  what: problem.what,
});

function sealList(list: readonly unknown[], depth: number): Problem | undefined {
  for (let index = 0; index < list.length; index++) {
    const problem = sealJson(list[index], depth);
    if (problem !== undefined) return within(String(index), problem);
  }
  return undefined;
}

function sealObject(value: object, depth: number): Problem | undefined {
  for (const name of Object.keys(value)) {
    const child: unknown = Reflect.get(value, name);
    // As JSON.stringify does: such a property is not there.
    if (child === undefined) continue;
    const problem = sealJson(child, depth);
    if (problem !== undefined) return within(name, problem);
  }
  return undefined;
}

function sealJson(value: unknown, depth: number): Problem | undefined {
  if (value === null) return undefined;
  if (typeof value !== "object") {
    const what = leafProblem(value);
    return what === undefined ? undefined : { path: "", what };
  }
  if (checked.has(value)) return undefined;
  if (!isPlain(value)) return { path: "", what: `a ${value.constructor?.name ?? "class"} object` };
  if (depth > MAX_DEPTH) return { path: "…", what: "a value nested too deeply, or in a cycle," };
  const problem = Array.isArray(value) ? sealList(value, depth + 1) : sealObject(value, depth + 1);
  if (problem !== undefined) return problem;
  Object.freeze(value);
  checked.add(value);
  return undefined;
}

/** Cycles are fine here. What is not plain, such as a Map, cannot be frozen and stays the reducer's responsibility. */
function freezeAll(root: unknown): void {
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null || checked.has(value) || frozen.has(value) || !isPlain(value)) continue;
    Object.freeze(value);
    frozen.add(value);
    for (const child of Object.values(value)) open.push(child);
  }
}

/**
 * Freezes a value for good, and checks on the way that a persistent one is plain JSON. Each object is visited once in its
 * life, so an update that shares structure with the value before it costs only what it added.
 */
export function seal(key: string, value: unknown, mustBeJson: boolean): void {
  if (!mustBeJson) freezeAll(value);
  const problem = mustBeJson ? sealJson(value, 0) : undefined;
  if (problem === undefined) return;
  const path = problem.path.length > 200 ? `${problem.path.slice(0, 200)}…` : problem.path;
  throw new AwakenError("key_encode", `state key '${key}'${path === "" ? "" : ` at '${path}'`}: ${problem.what} is not plain JSON`, {
    details: { key, path },
  });
}
