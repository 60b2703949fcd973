const PLAIN: ReadonlySet<unknown> = /* @__PURE__ */ new Set([Object.prototype, Array.prototype, null]);

/** Data alone, all the way down: what has methods would lose them. */
const isData = (given: unknown): boolean =>
  typeof given === "object" && given !== null
    ? ArrayBuffer.isView(given) || (PLAIN.has(Object.getPrototypeOf(given)) && Object.values(given).every(isData))
    : typeof given !== "function" && typeof given !== "symbol";

/** A copy, which the one who handed it in cannot change any more. What is no data, and what cannot be read, stays as it is. */
export function asItIsNow<T>(given: T): T {
  try {
    if (isData(given)) return structuredClone(given);
    if (typeof given !== "object" || given === null || Object.getPrototypeOf(given) !== Object.prototype) return given;
    const copy = { ...given };
    for (const key in copy) copy[key] = asItIsNow(copy[key]);
    return copy;
  } catch {
    return given;
  }
}
