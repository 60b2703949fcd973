/** Makes ids that are unique and sort by time; handed in so that tests can count instead. */
export type Ids = () => string;

/** Random numbers of 32 bits, drawn for many ids at a time: one draw costs more than the rest of an id. */
const pool = new Uint32Array(1024);
let used = pool.length;

function draw(): number {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  return pool[used++] ?? 0;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
/** The byte that begins `shift` bits from the right. */
const byteOf = (value: number, shift: number): string => HEX[(value >>> shift) & 0xff] ?? "";

let msecs = 0;
/** The time as an id begins with it. */
let time = "";
/** Where the ids of this millisecond are, in 32 bits. */
let seq = 0;

function setTime(now: number): void {
  const digits = now.toString(16).padStart(12, "0");
  msecs = now;
  time = `${digits.slice(0, 8)}-${digits.slice(8)}`;
}

/**
 * UUID v7 (RFC 9562): 48 bits of time, 32 of a counter that starts at random, 42 at random. Ids of one process rise strictly, also within
 * a millisecond and when the system clock steps back.
 */
export const uuidIds: Ids = () => {
  const now = Date.now();
  if (now > msecs) {
    setTime(now);
    seq = draw() >>> 1;
  } else {
    seq = (seq + 1) >>> 0;
    if (seq === 0) setTime(msecs + 1);
  }
  const high = 0x7000 | (seq >>> 20);
  const middle = 0x8000 | ((seq >>> 6) & 0x3fff);
  const low = ((seq & 0x3f) << 10) | (draw() & 0x3ff);
  const last = draw();
  const node = byteOf(low, 8) + byteOf(low, 0) + byteOf(last, 24) + byteOf(last, 16) + byteOf(last, 8) + byteOf(last, 0);
  return `${time}-${byteOf(high, 8)}${byteOf(high, 0)}-${byteOf(middle, 8)}${byteOf(middle, 0)}-${node}`;
};
