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

const DIGITS = Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));

/** The characters of the last id, written over for the next one: an id is then one flat string, and nothing else is made for it. */
const codes = Array.from("00000000-0000-7000-8000-000000000000", (char) => char.charCodeAt(0));

/** The lowest digits of a number of 32 bits. */
function write(value: number, at: number, digits: number): void {
  let rest = value;
  for (let index = at + digits - 1; index >= at; index--) {
    codes[index] = DIGITS[rest & 0xf] ?? 0;
    rest >>>= 4;
  }
}

let msecs = 0;
/** Where the ids of this millisecond are, in 32 bits. */
let seq = 0;

function setTime(now: number): void {
  msecs = now;
  write(Math.floor(now / 0x1_0000), 0, 8);
  write(now % 0x1_0000, 9, 4);
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
  write(0x7000 | (seq >>> 20), 14, 4);
  write(0x8000 | ((seq >>> 6) & 0x3fff), 19, 4);
  write(((seq & 0x3f) << 10) | (draw() & 0x3ff), 24, 4);
  write(draw(), 28, 8);
  return String.fromCharCode(...codes);
};
