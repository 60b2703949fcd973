const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === null || prototype === Object.prototype;
};

/** Freezes plain data to the bottom. Parsed specs are trees of known depth, so recursion is safe. */
export function freezeDeep<T extends object>(value: T): T {
  if (Object.isFrozen(value) || !isPlain(value)) return value;
  for (const child of Object.values(value)) if (typeof child === "object" && child !== null) freezeDeep(child);
  return Object.freeze(value);
}
