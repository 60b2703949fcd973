const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MASK = 0xffffffffffffffffn;

/** FNV-1a, 64 bits. */
export function fnv1a64(text: string): bigint {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(text)) hash = ((hash ^ BigInt(byte)) * PRIME) & MASK;
  return hash;
}

/** Whether a run is one of those that are kept. Every process says the same of one run. */
export const isSampled = (runId: string, rate: number): boolean => rate >= 1 || Number(fnv1a64(runId)) / 2 ** 64 < rate;
