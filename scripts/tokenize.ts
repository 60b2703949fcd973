export interface Token {
  readonly kind: "word" | "string" | "template" | "number" | "regex" | "punct";
  /** Raw text; strings and templates come without their quotes. */
  readonly text: string;
  readonly line: number;
}

interface Bracket {
  readonly isTemplate: boolean;
  /** Whether the closing bracket ends a value, so that a slash after it divides. */
  readonly endsValue: boolean;
}

const SKIPPED = /(?:\s|\/\/[^\n]*|\/\*.*?\*\/|(?<!.)#![^\n]*)+/sy;
const STRING = /"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/sy;
const NUMBER = /\.?\d[\w.]*/y;
const WORD = /#?[\p{ID_Start}$_][\p{ID_Continue}$]*/uy;
const REGEX = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/y;
const TEMPLATE_TEXT = /(?:\\.|\$(?!\{)|[^`\\$])*(?:`|\$\{|$)/sy;
const PUNCT = /=>|\+\+|--|\?\.(?!\d)|\.\.\.|./suy;

const CONTROL = new Set(["if", "while", "for"]);
const BEFORE_BLOCK = new Set([")", "=>", ";", "{", "}", "else", "do", "try", "finally"]);
const BEFORE_OPERAND = new Set(
  "return typeof case in of delete void throw new instanceof else do yield await extends default export".split(" "),
);

class Lexer {
  readonly tokens: Token[] = [];
  readonly #source: string;
  readonly #brackets: Bracket[] = [];
  #at = 0;
  #line = 1;
  #afterValue = false;

  constructor(source: string) {
    this.#source = source;
  }

  read(): Token[] {
    for (;;) {
      this.#take(SKIPPED);
      if (this.#at >= this.#source.length) return this.tokens;
      this.#readToken();
    }
  }

  #readToken(): void {
    const line = this.#line;
    const simple = this.#takeSimple();
    if (simple !== undefined) this.#emit(simple.kind, simple.text, line, simple.endsValue);
    else this.#readPunct(this.#take(PUNCT) ?? "", line);
  }

  #takeSimple(): { kind: Token["kind"]; text: string; endsValue: boolean } | undefined {
    const string = this.#take(STRING);
    if (string !== undefined) return { kind: "string", text: string.slice(1, -1), endsValue: true };
    const number = this.#take(NUMBER);
    if (number !== undefined) return { kind: "number", text: number, endsValue: true };
    const word = this.#take(WORD);
    if (word !== undefined) return { kind: "word", text: word, endsValue: !BEFORE_OPERAND.has(word) || this.#last() === "." };
    // In TSX `</` closes a tag; no regex can follow a `<`.
    const regex = this.#afterValue || this.#last() === "<" ? undefined : this.#take(REGEX);
    return regex === undefined ? undefined : { kind: "regex", text: regex, endsValue: true };
  }

  #readPunct(text: string, line: number): void {
    if (text === "`") {
      this.#readTemplate();
    } else if (text === "(" || text === "[" || text === "{") {
      this.#brackets.push({ isTemplate: false, endsValue: this.#bracketEndsValue(text) });
      this.#emit("punct", text, line, false);
    } else if (text === ")" || text === "]" || text === "}") {
      const open = this.#brackets.pop();
      this.#emit("punct", text, line, open?.endsValue ?? true);
      if (open?.isTemplate) this.#readTemplate();
    } else {
      // Postfix `x++`, `x--`, `x!` keep a value a value; the same signs before an operand keep waiting for it.
      const keeps = text === "++" || text === "--" || text === "!";
      this.#emit("punct", text, line, keeps && this.#afterValue);
    }
  }

  #readTemplate(): void {
    const line = this.#line;
    const text = this.#take(TEMPLATE_TEXT) ?? "";
    const opens = text.endsWith("${");
    this.#emit("template", text.replace(/(?:`|\$\{)$/, ""), line, true);
    if (!opens) return;
    this.#brackets.push({ isTemplate: true, endsValue: false });
    this.#emit("punct", "${", this.#line, false);
  }

  #bracketEndsValue(open: "(" | "[" | "{"): boolean {
    const last = this.#last();
    if (open === "[") return true;
    if (open === "(") return !(CONTROL.has(last) || (last === "await" && this.tokens.at(-2)?.text === "for"));
    return !(last === "" || BEFORE_BLOCK.has(last));
  }

  #last(): string {
    const token = this.tokens.at(-1);
    return token === undefined || token.kind === "string" || token.kind === "template" ? "" : token.text;
  }

  #emit(kind: Token["kind"], text: string, line: number, afterValue: boolean): void {
    this.tokens.push({ kind, text, line });
    this.#afterValue = afterValue;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#source)?.[0];
    if (text === undefined) return undefined;
    this.#at += text.length;
    this.#line += text.split("\n").length - 1;
    return text;
  }
}

/** Code tokens only: no comments, no white space. Text inside `${}` is code; a quote that is never closed (JSX text) is punctuation. */
export const tokenize = (source: string): Token[] => new Lexer(source).read();
