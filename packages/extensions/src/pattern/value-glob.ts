import { PatternProblem, parsing } from "./pattern-error.ts";

/** Whether a text matches; the whole of it, case-sensitive, by code points. */
export type ValueGlob = (text: string) => boolean;

interface Range {
  readonly from: number;
  readonly to: number;
}

/** One place of the pattern. `maybe` may skip the two places after it, the `**` and the slash behind it. */
type Place =
  | { readonly type: "literal"; readonly point: number }
  | { readonly type: "one" }
  | { readonly type: "class"; readonly ranges: readonly Range[]; readonly isNegated: boolean }
  | { readonly type: "run" }
  | { readonly type: "maybe" };

export const MAX_PATTERN = 1_000;

const pointAt = (text: string, at: number): number => text.codePointAt(at) ?? 0;
const widthOf = (point: number): number => (point > 0xffff ? 2 : 1);

interface Read {
  readonly place: Place;
  readonly next: number;
}

/** `[abc]`, `[a-z]`, `[!a]`; a `]` that comes first is one of the characters. */
function readClass(glob: string, open: number, offset: number): Read {
  const isNegated = glob[open + 1] === "!";
  const first = open + (isNegated ? 2 : 1);
  const ranges: Range[] = [];
  let at = first;
  while (at < glob.length && (glob[at] !== "]" || at === first)) {
    const from = pointAt(glob, at);
    const dash = at + widthOf(from);
    const isRange = glob[dash] === "-" && dash + 1 < glob.length && glob[dash + 1] !== "]";
    const to = isRange ? pointAt(glob, dash + 1) : from;
    if (to < from) throw new PatternProblem(offset + at, "the range of a class runs backwards");
    ranges.push({ from, to });
    at = isRange ? dash + 1 + widthOf(to) : dash;
  }
  if (at >= glob.length) throw new PatternProblem(offset + open, "a class without its ]");
  return { place: { type: "class", ranges, isNegated }, next: at + 1 };
}

function readPlaces(glob: string, offset: number): readonly Place[] {
  const places: Place[] = [];
  let at = 0;
  while (at < glob.length) {
    const character = glob.charAt(at);
    if (character === "*") {
      let end = at + 1;
      while (glob[end] === "*") end++;
      if (end > at + 1 && glob[at - 1] === "/" && glob[end] === "/") places.push({ type: "maybe" });
      places.push({ type: "run" });
      at = end;
    } else if (character === "[") {
      const { place, next } = readClass(glob, at, offset);
      places.push(place);
      at = next;
    } else {
      const point = pointAt(glob, at);
      places.push(character === "?" ? { type: "one" } : { type: "literal", point });
      at += widthOf(point);
    }
  }
  return places;
}

function takes(place: Place, point: number): boolean {
  if (place.type === "literal") return place.point === point;
  if (place.type === "class") return place.ranges.some(({ from, to }) => point >= from && point <= to) !== place.isNegated;
  return place.type === "one";
}

/** The places that the walk stands at, each once. */
class Front {
  readonly #places: readonly Place[];
  readonly #isIn: Uint8Array;
  readonly at: number[] = [];

  constructor(places: readonly Place[]) {
    this.#places = places;
    this.#isIn = new Uint8Array(places.length + 1);
  }

  has(index: number): boolean {
    return this.#isIn[index] === 1;
  }

  /** With every place that is reached from there without a character. */
  add(index: number): void {
    for (let next = index; this.#isIn[next] !== 1; next++) {
      this.#isIn[next] = 1;
      this.at.push(next);
      const type = this.#places[next]?.type;
      if (type === "maybe") this.add(next + 3);
      else if (type !== "run") return;
    }
  }

  clear(): void {
    for (const index of this.at) this.#isIn[index] = 0;
    this.at.length = 0;
  }
}

/** Walks all ways at once, so the time is at most the length of the text times that of the pattern. */
function matches(places: readonly Place[], text: string): boolean {
  const end = places.length;
  const isOpenEnded = places[end - 1]?.type === "run";
  let here = new Front(places);
  let there = new Front(places);
  here.add(0);
  for (let at = 0; at < text.length; ) {
    // Whatever follows, the star at the end takes it.
    if (isOpenEnded && here.has(end)) return true;
    const point = pointAt(text, at);
    at += widthOf(point);
    for (const index of here.at) {
      const place = places[index];
      if (place === undefined) continue;
      if (place.type === "run") there.add(index);
      else if (takes(place, point)) there.add(index + 1);
    }
    if (there.at.length === 0) return false;
    here.clear();
    [here, there] = [there, here];
  }
  return here.has(end);
}

/** The matcher of a glob that is part of a longer pattern and begins there at `offset`. Throws a `PatternProblem`. */
export function readValueGlob(glob: string, offset: number): ValueGlob {
  if (glob.length > MAX_PATTERN) throw new PatternProblem(offset, `longer than ${MAX_PATTERN} characters`);
  const places = readPlaces(glob, offset);
  if (places.every(({ type }) => type === "literal")) return (text) => text === glob;
  return (text) => matches(places, text);
}

/**
 * `*` and `**` stand for any run of characters, slashes included, `?` for one, `[a-z]` and `[!a]` for one of a class. A `**` between two slashes
 * may also stand for no folder at all, one slash instead of two. There is no escape: a star that means itself is `[*]`.
 */
export function compileValueGlob(glob: string): ValueGlob {
  return parsing(glob, () => readValueGlob(glob, 0));
}
