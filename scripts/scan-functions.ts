import { type Token, tokenize } from "./tokenize.ts";

export interface FunctionSpan {
  readonly name: string;
  readonly line: number;
  /** Lines from the head (name or parameters) to the closing brace. */
  readonly lines: number;
}

/** Where the body opens and where the parameters start. */
type Body = { readonly open: number; readonly head: number };

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const CONTROL = words("if for while switch");
const TYPE_PREFIX = words("keyof typeof readonly unique asserts infer new abstract | & -");
const TYPE_INFIX = words(". | & is extends ? :");
const MODIFIERS = words("async function * get set static public private protected override export default");
const CLOSERS: ReadonlyMap<string, string> = new Map(["()", "[]", "{}"].map(([open = "", close = ""]) => [open, close])).set("${", "}");

/** Finds function bodies by their braces. It knows tokens, not grammar: enough for sources that compile and are formatted. */
class FunctionScan {
  readonly #tokens: readonly Token[];
  /** Partner of each bracket, in both directions. */
  readonly #partner = new Map<number, number>();

  constructor(source: string) {
    this.#tokens = tokenize(source);
    const open: number[] = [];
    for (const at of this.#tokens.keys()) {
      if (CLOSERS.has(this.#punct(at))) open.push(at);
      else if (CLOSERS.get(this.#punct(open.at(-1) ?? -1)) === this.#punct(at)) {
        const start = open.pop() ?? at;
        this.#partner.set(start, at).set(at, start);
      }
    }
  }

  spans(): FunctionSpan[] {
    const bodies = new Map<number, Body>();
    for (const at of this.#tokens.keys()) {
      const body = this.#punct(at) === ")" ? this.#bodyAfterParameters(at) : this.#bodyAfterArrow(at, at - 1);
      if (body !== undefined && !bodies.has(body.open)) bodies.set(body.open, body);
    }
    return [...bodies.values()].map((body) => this.#span(body)).sort((left, right) => left.line - right.line);
  }

  #punct(at: number): string {
    const token = this.#tokens[at];
    return token?.kind === "punct" ? token.text : "";
  }

  /** Operators, keywords and names; never the content of a literal. */
  #code(at: number): string {
    return this.#wordAt(at) ?? this.#punct(at);
  }

  #bodyAfterArrow(arrow: number, head: number): Body | undefined {
    return this.#punct(arrow) === "=>" && this.#isBlock(arrow + 1) ? { open: arrow + 1, head } : undefined;
  }

  #bodyAfterParameters(close: number): Body | undefined {
    const head = this.#partner.get(close);
    if (head === undefined || this.#isControl(head) || this.#isHeritage(head)) return undefined;
    const end = this.#punct(close + 1) === ":" ? this.#typeEnd(close + 2) : close + 1;
    return this.#punct(end) === "{" ? { open: end, head } : this.#bodyAfterArrow(end, head);
  }

  /** After an arrow, a brace that opens like an object type belongs to a function type; one that opens with a label does not. */
  #isBlock(open: number): boolean {
    const first = this.#code(open + 1) === "readonly" ? open + 2 : open + 1;
    const end = this.#punct(first) === "[" ? (this.#partner.get(first) ?? first) : first;
    const colon = this.#punct(end + 1) === "?" ? end + 2 : end + 1;
    return this.#punct(open) === "{" && (this.#punct(colon) !== ":" || this.#punct(first) === "}" || CONTROL.has(this.#code(colon + 1)));
  }

  #isControl(head: number): boolean {
    const word = this.#code(head - 1) === "await" ? this.#code(head - 2) : this.#code(head - 1);
    // A method may be called `catch`, so a real one is known by its `try`.
    if (word === "catch") return this.#code((this.#partner.get(head - 2) ?? 0) - 1) === "try";
    return CONTROL.has(word);
  }

  /** `class A extends mixin(B) {`: a call, not a parameter list. */
  #isHeritage(head: number): boolean {
    let at = head - 1;
    while (this.#punct(at - 1) === ".") at -= 2;
    return this.#code(at) === "extends" || this.#code(at - 1) === "extends";
  }

  /** The token after a return type: `{` of a body, `=>` of an arrow function, or one that shows that it was no return type. */
  #typeEnd(start: number): number {
    let wantsOperand = true;
    for (let at = start; at < this.#tokens.length; at += 1) {
      const text = this.#code(at);
      const close = this.#partner.get(at) ?? at;
      const isFunctionType = text === "=>" && this.#punct(at - 1) === ")" && !this.#isBlock(at + 1);
      if (text === "<") at = this.#skipAngles(at, 1);
      else if (wantsOperand) {
        wantsOperand = TYPE_PREFIX.has(text);
        if (close > at) at = close;
      } else if (TYPE_INFIX.has(text) || isFunctionType) wantsOperand = true;
      else if (text === "[" || text === "${") at = close;
      else if (this.#tokens[at]?.kind !== "template") return at;
    }
    return this.#tokens.length;
  }

  /** From an angle bracket to its partner, forward (1) or backward (-1). */
  #skipAngles(start: number, step: 1 | -1): number {
    let depth = 0;
    for (let at = start; at >= 0 && at < this.#tokens.length; at += step) {
      if (this.#punct(at) === "<") depth += step;
      else if (this.#punct(at) === ">") depth -= step;
      if (depth === 0) return at;
    }
    return start;
  }

  #span({ open, head }: Body): FunctionSpan {
    const generics = this.#punct(head - 1) === ">" ? this.#skipAngles(head - 1, -1) : head;
    const before = this.#code(generics - 1);
    const isNamed = this.#punct(open - 1) !== "=>" && before !== "function" && before !== "*";
    const named = before === "]" ? (this.#partner.get(generics - 1) ?? generics) : generics - 1;
    const parts = this.#tokens.slice(named, generics).map(({ text }) => text);
    let start = isNamed ? named : generics;
    while (MODIFIERS.has(this.#code(start - 1))) start -= 1;
    const line = this.#tokens[start]?.line ?? 0;
    const end = this.#tokens[this.#partner.get(open) ?? open]?.line ?? line;
    return { name: isNamed ? parts.join("") : (this.#assignedName(start) ?? "anonymous"), line, lines: end - line + 1 };
  }

  /** The name in `name =`, `name: Type =` or `name:` before a function that has none itself. */
  #assignedName(start: number): string | undefined {
    if (this.#punct(start - 1) === ":") return this.#wordAt(start - 2);
    if (this.#punct(start - 1) !== "=") return undefined;
    for (let at = start - 2; ; at -= 1) {
      if (this.#punct(at) === ">") at = this.#skipAngles(at, -1);
      else if (this.#punct(at) === ":" && this.#wordAt(at - 1) !== undefined) return this.#wordAt(at - 1);
      else if ((this.#partner.get(at) ?? at) < at) at = this.#partner.get(at) ?? at;
      else if (!/^(?:[\w$#.|&?:]+|=>)$/.test(this.#code(at))) return this.#wordAt(start - 2);
    }
  }

  #wordAt(at: number): string | undefined {
    return this.#tokens[at]?.kind === "word" ? this.#tokens[at]?.text : undefined;
  }
}

export const scanFunctions = (source: string): FunctionSpan[] => new FunctionScan(source).spans();
