/** When what happens now has happened. A host that does not say when that is calls back as soon as it can. */
export const afterThisTick: (work: () => void) => void =
  typeof setImmediate === "function" ? (work) => void setImmediate(work) : (work) => queueMicrotask(work);
