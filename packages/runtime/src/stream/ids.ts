import { v7 } from "uuid";

/** Makes ids that are unique and sort by time; handed in so that tests can count instead. */
export type Ids = () => string;

const ID_BYTES = 16;
const pool = new Uint8Array(256 * ID_BYTES);
let used = pool.length;
let msecs = 0;
let seq = 0;

/** Random bytes are drawn for many ids at a time: one draw costs more than the rest of an id. */
function drawBytes(): Uint8Array {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.slice(used - ID_BYTES, used);
}

/** UUID v7. Ids of one process rise strictly, also within a millisecond and when the system clock steps back. */
export const uuidIds: Ids = () => {
  const random = drawBytes();
  const now = Date.now();
  if (now > msecs) {
    msecs = now;
    seq = new DataView(random.buffer).getUint32(0) >>> 1;
  } else {
    seq = (seq + 1) >>> 0;
    if (seq === 0) msecs += 1;
  }
  return v7({ random, msecs, seq });
};
