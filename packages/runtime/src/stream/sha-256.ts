const BLOCK = 64;
const LENGTH = 8;

const fraction = (root: number): number => Math.floor((root - Math.floor(root)) * 2 ** 32);

/** Of FIPS 180-4: what the fractions of the roots of the first primes begin with. */
function constants(): { readonly start: Int32Array; readonly rounds: Int32Array } {
  const primes: number[] = [];
  for (let next = 2; primes.length < BLOCK; next++) if (primes.every((prime) => next % prime !== 0)) primes.push(next);
  return {
    start: Int32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
    rounds: Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
  };
}

/** The text, the mark of its end, and its length in bits: whole blocks. */
function padded(text: string): DataView {
  const bytes = new TextEncoder().encode(text);
  const view = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 1 + LENGTH) / BLOCK) * BLOCK));
  new Uint8Array(view.buffer).set(bytes);
  view.setUint8(bytes.length, 0x80);
  view.setUint32(view.byteLength - LENGTH, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(view.byteLength - 4, (bytes.length * 8) >>> 0);
  return view;
}

/** The words of the block that is being mixed, and those that follow from them. Nobody waits in between, so one is enough. */
const words = new Int32Array(BLOCK);

function spread(view: DataView, from: number): void {
  for (let at = 0; at < 16; at++) words[at] = view.getInt32(from + at * 4);
  for (let at = 16; at < BLOCK; at++) {
    const far = words[at - 15] ?? 0;
    const near = words[at - 2] ?? 0;
    const first = ((far >>> 7) | (far << 25)) ^ ((far >>> 18) | (far << 14)) ^ (far >>> 3);
    const second = ((near >>> 17) | (near << 15)) ^ ((near >>> 19) | (near << 13)) ^ (near >>> 10);
    words[at] = ((words[at - 16] ?? 0) + first + (words[at - 7] ?? 0) + second) | 0;
  }
}

function mix(hash: Int32Array, rounds: Int32Array): void {
  let a = hash[0] ?? 0;
  let b = hash[1] ?? 0;
  let c = hash[2] ?? 0;
  let d = hash[3] ?? 0;
  let e = hash[4] ?? 0;
  let f = hash[5] ?? 0;
  let g = hash[6] ?? 0;
  let h = hash[7] ?? 0;
  for (let at = 0; at < BLOCK; at++) {
    const low = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const first = (h + low + ((e & f) ^ (~e & g)) + (rounds[at] ?? 0) + (words[at] ?? 0)) | 0;
    const high = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const second = (high + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  const mixed = [a, b, c, d, e, f, g, h];
  for (let at = 0; at < hash.length; at++) hash[at] = (hash[at] ?? 0) + (mixed[at] ?? 0);
}

let known: ReturnType<typeof constants> | undefined;

/** In hexadecimal. For short texts that a run cannot go on without: that of the platform is a promise, and a trip to another thread. */
export function sha256(text: string): string {
  known ??= constants();
  const view = padded(text);
  const hash = known.start.slice();
  for (let from = 0; from < view.byteLength; from += BLOCK) {
    spread(view, from);
    mix(hash, known.rounds);
  }
  let hex = "";
  for (const word of hash) hex += (word >>> 0).toString(16).padStart(8, "0");
  return hex;
}
