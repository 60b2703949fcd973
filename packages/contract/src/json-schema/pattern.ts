/**
 * Regular expressions of schemas, matched in time linear in the text: they may come from strangers, and the native engine can take
 * hours for `^(a+)+$`. A pattern becomes a small program; `match.ts` walks all its ways at once.
 */
export type Instruction =
  | { readonly type: "take"; readonly takes: (character: string) => boolean }
  | { readonly type: "split"; readonly to: readonly number[] }
  | { readonly type: "edge"; readonly edge: "start" | "end" | "word" | "no-word" }
  | { readonly type: "ahead"; readonly program: Program; readonly isNegative: boolean }
  | { readonly type: "end" };

export type Program = readonly Instruction[];

export interface Pattern {
  readonly program: Program;
  /** By code points; else by UTF-16 units. */
  readonly isUnicode: boolean;
}

/** A pattern that this engine does not know: look-behind, back-references, modifiers, or too many repetitions. */
class Unsupported extends Error {}

const MAX_PROGRAM = 20_000;
const UNBOUNDED = Number.POSITIVE_INFINITY;

class Compiler {
  readonly #source: string;
  readonly #flags: string;
  #at = 0;
  #out: Instruction[] = [];
  #size = 0;

  constructor(source: string, flags: string) {
    this.#source = source;
    this.#flags = flags;
  }

  compile(): Program {
    this.#alternatives();
    if (this.#at < this.#source.length) throw new Unsupported(`unexpected ${this.#source[this.#at]}`);
    this.#emit({ type: "end" });
    return this.#out;
  }

  #emit(instruction: Instruction): void {
    this.#size += 1;
    if (this.#size > MAX_PROGRAM) throw new Unsupported("too many repetitions");
    this.#out.push(instruction);
  }

  /** What `write` emits, with jumps that count from its own start. */
  #aside(write: () => void): Instruction[] {
    const outside = this.#out;
    this.#out = [];
    write();
    const inside = this.#out;
    this.#out = outside;
    return inside;
  }

  #append(block: readonly Instruction[]): void {
    const base = this.#out.length;
    for (const one of block) this.#emit(one.type === "split" ? { type: "split", to: one.to.map((to) => to + base) } : one);
  }

  #has(text: string): boolean {
    if (!this.#source.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #alternatives(): void {
    const choices = [this.#aside(() => this.#sequence())];
    while (this.#has("|")) choices.push(this.#aside(() => this.#sequence()));
    for (const [index, choice] of choices.entries()) {
      const isLast = index === choices.length - 1;
      const here = this.#out.length;
      const rest = choices.slice(index + 1).reduce((sum, { length }) => sum + length, 0) + 2 * Math.max(0, choices.length - 2 - index);
      if (!isLast) this.#emit({ type: "split", to: [here + 1, here + choice.length + 2] });
      this.#append(choice);
      if (!isLast) this.#emit({ type: "split", to: [this.#out.length + 1 + rest] });
    }
  }

  #sequence(): void {
    while (this.#at < this.#source.length && !"|)".includes(this.#source.charAt(this.#at))) {
      const atom = this.#aside(() => this.#atom());
      const times = this.#quantifier();
      if (times === undefined) this.#append(atom);
      else this.#repeat(atom, times.least, times.most);
    }
  }

  #quantifier(): { readonly least: number; readonly most: number } | undefined {
    const times = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/.exec(this.#source.slice(this.#at, this.#at + 40));
    if (times === null) return undefined;
    this.#at += times[0].length;
    const [whole, least = "0", comma, most = ""] = times;
    if (whole.startsWith("*")) return { least: 0, most: UNBOUNDED };
    if (whole.startsWith("+")) return { least: 1, most: UNBOUNDED };
    if (whole.startsWith("?")) return { least: 0, most: 1 };
    return { least: Number(least), most: comma === "" ? Number(least) : most === "" ? UNBOUNDED : Number(most) };
  }

  #repeat(atom: readonly Instruction[], least: number, most: number): void {
    // An empty atom would make no program longer, however often it is repeated.
    for (let n = 0; n < least && atom.length > 0; n++) this.#append(atom);
    if (most === UNBOUNDED) {
      const loop = this.#out.length;
      this.#emit({ type: "split", to: [loop + 1, loop + atom.length + 2] });
      this.#append(atom);
      this.#emit({ type: "split", to: [loop] });
      return;
    }
    for (let n = least; n < most && atom.length > 0; n++) {
      const here = this.#out.length;
      this.#emit({ type: "split", to: [here + 1, here + 1 + atom.length] });
      this.#append(atom);
    }
  }

  #atom(): void {
    if (this.#has("^")) this.#emit({ type: "edge", edge: "start" });
    else if (this.#has("$")) this.#emit({ type: "edge", edge: "end" });
    else if (this.#has("\\b")) this.#emit({ type: "edge", edge: "word" });
    else if (this.#has("\\B")) this.#emit({ type: "edge", edge: "no-word" });
    else if (this.#has("(")) this.#group();
    else this.#take();
  }

  #group(): void {
    const isAhead = this.#has("?=");
    const isNegative = !isAhead && this.#has("?!");
    if (!isAhead && !isNegative && !this.#has("?:")) {
      const named = /^\?<[^=!][^>]*>/.exec(this.#source.slice(this.#at, this.#at + 200));
      if (named !== null) this.#at += named[0].length;
      else if (this.#source.charAt(this.#at) === "?") throw new Unsupported("look-behind or modifiers");
    }
    const inner = this.#aside(() => this.#alternatives());
    if (!this.#has(")")) throw new Unsupported("a group without an end");
    if (isAhead || isNegative) this.#emit({ type: "ahead", program: [...inner, { type: "end" }], isNegative });
    else this.#append(inner);
  }

  /** One character: a literal, or whatever the native engine says of a single one. */
  #take(): void {
    const rest = this.#source.slice(this.#at);
    const atom =
      /^\\(?:u\{[\da-fA-F]+\}|u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|[pP]\{[^}]*\}|c[A-Za-z]|[\s\S])/u.exec(
        rest,
      ) ??
      /^\[(?:[^\]\\]|\\[\s\S])*\]/u.exec(rest) ??
      (this.#flags === "u" ? /^[\s\S]/u : /^[\s\S]/).exec(rest);
    if (atom === null) throw new Unsupported("nothing to take");
    const [source] = atom;
    this.#at += source.length;
    if (/^\\[1-9k]/.test(source)) throw new Unsupported("back-references");
    const isLiteral = /^[^\\[.]/.test(source);
    const one = isLiteral ? undefined : new RegExp(`^(?:${source})$`, this.#flags);
    this.#emit({ type: "take", takes: one === undefined ? (character) => character === source : (character) => one.test(character) });
  }
}

function isValid(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags).flags === flags;
  } catch {
    return false;
  }
}

/** Undefined for what is no regular expression; `unsupported` for what is one, and cannot be matched in linear time. */
export function compilePattern(source: string): Pattern | "unsupported" | undefined {
  const flags = ["u", ""].find((one) => isValid(source, one));
  if (flags === undefined) return undefined;
  try {
    return { program: new Compiler(source, flags).compile(), isUnicode: flags === "u" };
  } catch {
    return "unsupported";
  }
}
