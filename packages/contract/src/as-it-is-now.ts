/** Data is copied all the way down; what has methods would lose them, and stays. */
function copyData<T>(given: T): T;
function copyData(given: unknown): unknown {
  if (typeof given !== "object" || given === null) return given;
  if (Array.isArray(given)) return given.map(copyData);
  if (ArrayBuffer.isView(given)) return structuredClone(given);
  const prototype: unknown = Object.getPrototypeOf(given);
  if (prototype !== Object.prototype && prototype !== null) return given;
  // A field called `__proto__` is a field like any other in a spread, and it is there when it is written to.
  const copy: { [name: string]: unknown } = { ...given };
  for (const name in copy) {
    const item = copy[name];
    if (typeof item === "object") copy[name] = copyData(item);
  }
  return copy;
}

/** A copy, which the one who handed it in cannot change any more. What is no data, and what cannot be read, stays as it is. */
export function asItIsNow<T>(given: T): T {
  try {
    return copyData(given);
  } catch {
    return given;
  }
}
