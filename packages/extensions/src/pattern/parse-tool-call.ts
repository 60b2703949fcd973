import { PatternProblem, parsing } from "./pattern-error.ts";
import { readRegex } from "./regex.ts";
import {
  type ArgsPart,
  type FieldCondition,
  type Operator,
  type PathSegment,
  SYMBOLS,
  type ToolCallPattern,
  type ToolPart,
} from "./tool-call-pattern.ts";
import { MAX_PATTERN, readValueGlob } from "./value-glob.ts";

const OPERATOR_OF = new Map(Object.entries(SYMBOLS).map(([op, symbol]) => [symbol, op as Operator]));

const SPACE = /^[\t\n\v\f\r ]*/;
const OUTER_SPACE = /^[\t\n\v\f\r ]+|[\t\n\v\f\r ]+$/g;
const TOOL_NAME = /^[^(\t\n\v\f\r ]*/;
const SEGMENT = /^(?:[A-Za-z0-9_-]+|\*)/;
const INDEX = /^\[(\d{1,9}|\*)\]/;
const OPERATOR = /^[~=!<>]+/;

class Parser {
  readonly #text: string;
  #at: number;

  constructor(text: string) {
    this.#text = text;
    this.#at = 0;
  }

  parse(): ToolCallPattern {
    if (this.#text.length > MAX_PATTERN) throw new PatternProblem(0, `longer than ${MAX_PATTERN} characters`);
    this.#take(SPACE);
    if (this.#isOver) this.#refuse("the pattern is empty");
    const tool = this.#tool();
    this.#take(SPACE);
    const args: ArgsPart = this.#peek === "(" ? this.#args() : { type: "any" };
    this.#take(SPACE);
    if (!this.#isOver) this.#refuse("trailing characters");
    return { tool, args };
  }

  /** A path and nothing else. */
  parsePath(): readonly PathSegment[] {
    const path = this.#path();
    if (path.length === 0) this.#refuse("the path of a field is missing");
    return this.#isOver ? path : this.#refuse("trailing characters");
  }

  get #isOver(): boolean {
    return this.#at >= this.#text.length;
  }

  get #peek(): string {
    return this.#text.charAt(this.#at);
  }

  #refuse(message: string, at = this.#at): never {
    throw new PatternProblem(at, message);
  }

  #match(expression: RegExp): RegExpExecArray | null {
    return expression.exec(this.#text.slice(this.#at));
  }

  #take(expression: RegExp): string {
    const [taken = ""] = this.#match(expression) ?? [];
    this.#at += taken.length;
    return taken;
  }

  #tool(): ToolPart {
    const start = this.#at;
    if (this.#peek === "/") return this.#regexTool();
    const name = this.#take(TOOL_NAME);
    if (name === "") this.#refuse("the name of a tool is missing");
    if (!/[*?[]/.test(name)) return { type: "exact", id: name };
    readValueGlob(name, start);
    return { type: "glob", glob: name };
  }

  #regexTool(): ToolPart {
    const open = this.#at;
    let end = open + 1;
    while (end < this.#text.length && this.#text[end] !== "/") end += this.#text[end] === "\\" ? 2 : 1;
    if (end >= this.#text.length) this.#refuse("a regular expression without its /", open);
    const source = this.#text.slice(open + 1, end);
    readRegex(source, open + 1);
    this.#at = end + 1;
    return { type: "regex", source };
  }

  #args(): ArgsPart {
    const open = this.#at;
    this.#at += 1;
    return this.#beginsCondition() ? this.#fields(open) : this.#primary(open);
  }

  /** A path, an operator and a quote; then it is meant as a condition, even if it is a wrong one. Nothing is taken. */
  #beginsCondition(): boolean {
    const start = this.#at;
    this.#take(SPACE);
    const path = this.#path();
    this.#take(SPACE);
    const operator = path.length === 0 ? "" : this.#take(OPERATOR);
    this.#take(SPACE);
    const isCondition = operator !== "" && (this.#peek === '"' || this.#peek === "'");
    this.#at = start;
    return isCondition;
  }

  /** Empty when there is none here. */
  #path(): readonly PathSegment[] {
    const segments: PathSegment[] = [];
    for (;;) {
      const name = this.#match(SEGMENT)?.[0];
      if (name === undefined) return segments;
      this.#at += name.length;
      segments.push(name === "*" ? { type: "any-key" } : { type: "key", key: name });
      for (let index = this.#match(INDEX); index !== null; index = this.#match(INDEX)) {
        this.#at += index[0].length;
        segments.push(index[1] === "*" ? { type: "any-index" } : { type: "index", index: Number(index[1]) });
      }
      if (this.#peek !== "." || !SEGMENT.test(this.#text.slice(this.#at + 1))) return segments;
      this.#at += 1;
    }
  }

  #fields(open: number): ArgsPart {
    const conditions: FieldCondition[] = [];
    for (;;) {
      conditions.push(this.#condition());
      this.#take(SPACE);
      if (this.#isOver) this.#refuse("a ) is missing", open);
      if (this.#peek !== "," && this.#peek !== ")") this.#refuse("a , or ) is expected");
      const isLast = this.#peek === ")";
      this.#at += 1;
      if (isLast) return { type: "fields", conditions };
    }
  }

  #condition(): FieldCondition {
    this.#take(SPACE);
    const path = this.#path();
    if (path.length === 0) this.#refuse("the path of a field is missing");
    this.#take(SPACE);
    const start = this.#at;
    const op = OPERATOR_OF.get(this.#take(OPERATOR));
    if (op === undefined) this.#refuse(`unknown operator: there are ${[...OPERATOR_OF.keys()].join(" ")}`, start);
    this.#take(SPACE);
    const at = this.#at;
    const value = this.#string();
    if (op.endsWith("regex")) readRegex(value, at + 1);
    else if (op.endsWith("glob")) readValueGlob(value, at + 1);
    return { path, op, value };
  }

  #string(): string {
    const open = this.#at;
    if (this.#peek !== '"') this.#refuse("a value stands in double quotes");
    let value = "";
    for (this.#at += 1; !this.#isOver; this.#at += 1) {
      const character = this.#peek;
      if (character === '"') {
        this.#at += 1;
        return value;
      }
      const next = this.#text.charAt(this.#at + 1);
      const isEscape = character === "\\" && (next === '"' || next === "\\");
      if (isEscape) this.#at += 1;
      value += isEscape ? next : character;
    }
    return this.#refuse("a string without its end", open);
  }

  #primary(open: number): ArgsPart {
    const start = this.#at;
    let depth = 1;
    while (!this.#isOver && depth > 0) {
      if (this.#peek === "(") depth += 1;
      if (this.#peek === ")") depth -= 1;
      this.#at += 1;
    }
    if (depth > 0) this.#refuse("a ) is missing", open);
    const raw = this.#text.slice(start, this.#at - 1);
    const glob = raw.replace(OUTER_SPACE, "");
    if (glob === "") this.#refuse("nothing stands in the parentheses", start);
    if (glob === "*") return { type: "any" };
    readValueGlob(glob, start + raw.indexOf(glob));
    return { type: "primary", glob };
  }
}

/** Reads a tool-call pattern; throws `invalid_pattern` with the position of what is wrong. */
export function parseToolCallPattern(text: string): ToolCallPattern {
  return parsing(text, () => new Parser(text).parse());
}

/** Reads a path into a value, `edits[*].path`; throws `invalid_pattern` with the position of what is wrong. */
export function parseFieldPath(text: string): readonly PathSegment[] {
  return parsing(text, () => new Parser(text).parsePath());
}
