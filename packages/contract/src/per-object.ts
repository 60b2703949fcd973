/**
 * What a function makes of an object that never changes, made once in the life of the object. For objects of others, which cannot carry
 * a field of ours; the answer goes when the object does.
 */
export function perObject<Given extends object, Made extends NonNullable<unknown>>(make: (given: Given) => Made): (given: Given) => Made {
  const made = new WeakMap<Given, Made>();
  return (given) => {
    const before = made.get(given);
    if (before !== undefined) return before;
    const now = make(given);
    made.set(given, now);
    return now;
  };
}
