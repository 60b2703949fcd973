/** Makes ids that are unique and sort by time; handed in so that tests can count instead. */
export type Ids = () => string;

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

const ID_BYTES = 10;
const pool = new Uint8Array(256 * ID_BYTES);
const words = new DataView(pool.buffer);
let at = pool.length - ID_BYTES;

/** Random bytes are drawn for many ids at a time: one draw costs more than the rest of an id. */
function draw(): void {
  at += ID_BYTES;
  if (at < pool.length) return;
  crypto.getRandomValues(pool);
  at = 0;
}

const hex = (offset: number): string => HEX[pool[at + offset] ?? 0] ?? "";
const tail = (): string => hex(4) + hex(5) + hex(6) + hex(7) + hex(8) + hex(9);

const MAX_COUNT = 2 ** 26;

let msecs = 0;
/** The digits of `msecs`. */
let time = "";
let count = 0;

function setTime(now: number): void {
  msecs = now;
  const digits = now.toString(16).padStart(12, "0");
  time = `${digits.slice(0, 8)}-${digits.slice(8)}-7`;
}

/** 26 bits: twelve behind the version, fourteen behind the variant. */
function countDigits(): string {
  const high = (count >>> 14) | 0x1000;
  const low = (count & 0x3fff) | 0x8000;
  return `${high.toString(16).slice(1)}-${low.toString(16)}-`;
}

/** UUID v7. Ids of one process rise strictly, also within a millisecond and when the system clock steps back. */
export const uuidIds: Ids = () => {
  draw();
  const now = Date.now();
  if (now > msecs) {
    setTime(now);
    // In the lower half, so that there is room for all that follow in this millisecond.
    count = words.getUint32(at) >>> 7;
  } else if (++count >= MAX_COUNT) {
    count = 0;
    setTime(msecs + 1);
  }
  return time + countDigits() + tail();
};
