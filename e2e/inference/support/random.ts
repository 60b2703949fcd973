/** A repeatable source of numbers: the same seed says the same again, on every machine. */
export interface Random {
  /** From 0 up to, but not including, 1. */
  next(): number;
  /** A whole number from 0 up to, but not including, `end`. */
  below(end: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
}

const mix = (hash: number, value: number): number => Math.imul(hash ^ value, 0x01000193) >>> 0;

/** mulberry32 over a hash of the parts, so that each run and request has its own numbers whatever runs beside it. */
export function random(...parts: readonly number[]): Random {
  let state = parts.reduce(mix, 0x811c9dc5);
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (end: number): number => Math.floor(next() * end);
  return { next, below, pick: (list) => list[below(list.length)] ?? list[0] };
}
