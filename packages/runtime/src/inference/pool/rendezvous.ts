const OFFSET = 0xcbf29ce484222325n;
const PRIME = 0x100000001b3n;
const MIX = 0xff51afd7ed558ccdn;
const SHIFT = 33n;
const encoder = new TextEncoder();

/** 64-bit FNV-1a. */
export function fnv1a(bytes: Uint8Array): bigint {
  let hash = OFFSET;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * PRIME);
  return hash;
}

/** A number in (0,1). FNV leaves the high bits of similar texts nearly equal, so they are mixed first. */
function toUnit(hash: bigint): number {
  let mixed = hash ^ (hash >> SHIFT);
  mixed = BigInt.asUintN(64, mixed * MIX);
  mixed ^= mixed >> SHIFT;
  return (Number(mixed >> 12n) + 0.5) / 2 ** 52;
}

/**
 * Weighted rendezvous: how strongly `key` is drawn to `id`. Of many keys, the share that an id wins is its share of the weights,
 * and taking an id away moves only the keys that it had.
 */
export function rendezvous(key: string, id: string, weight: number): number {
  return weight / -Math.log(toUnit(fnv1a(encoder.encode(`${key}\0${id}`))));
}
