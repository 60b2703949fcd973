const BLOCK = 64;
const LENGTH = 8;

const fraction = (root: number): number => (root - Math.floor(root)) * 2 ** 32;

/** Of FIPS 180-4: what the fractions of the roots of the first primes begin with. */
function constants(): { readonly start: Uint32Array; readonly rounds: Uint32Array } {
  const primes: number[] = [];
  for (let next = 2; primes.length < BLOCK; next++) if (primes.every((prime) => next % prime !== 0)) primes.push(next);
  return {
    start: Uint32Array.from(primes.slice(0, 8), (prime) => fraction(Math.sqrt(prime))),
    rounds: Uint32Array.from(primes, (prime) => fraction(Math.cbrt(prime))),
  };
}

/** The text, the mark of its end, and its length in bits: whole blocks. */
function padded(text: string): DataView {
  const bytes = new TextEncoder().encode(text);
  const view = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 1 + LENGTH) / BLOCK) * BLOCK));
  new Uint8Array(view.buffer).set(bytes);
  view.setUint8(bytes.length, 0x80);
  view.setBigUint64(view.byteLength - LENGTH, BigInt(bytes.length * 8));
  return view;
}

const turned = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

/** The words of a block, and those that follow from them. */
function spread(view: DataView, from: number, words: Uint32Array): void {
  for (let at = 0; at < 16; at++) words[at] = view.getUint32(from + at * 4);
  for (let at = 16; at < BLOCK; at++) {
    const far = words[at - 15] ?? 0;
    const near = words[at - 2] ?? 0;
    const first = turned(far, 7) ^ turned(far, 18) ^ (far >>> 3);
    const second = turned(near, 17) ^ turned(near, 19) ^ (near >>> 10);
    words[at] = (words[at - 16] ?? 0) + first + (words[at - 7] ?? 0) + second;
  }
}

function mix(hash: Uint32Array, words: Uint32Array, rounds: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let at = 0; at < BLOCK; at++) {
    const chosen = (e & f) ^ (~e & g);
    const first = (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + chosen + (rounds[at] ?? 0) + (words[at] ?? 0)) | 0;
    const most = (a & b) ^ (a & c) ^ (b & c);
    const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + most) | 0;
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
  const words = new Uint32Array(BLOCK);
  for (let from = 0; from < view.byteLength; from += BLOCK) {
    spread(view, from, words);
    mix(hash, words, known.rounds);
  }
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}
