import { type Token, tokenize } from "./tokenize.ts";

export interface Import {
  readonly specifier: string;
  /** True only for `import type` and `export type`: with verbatimModuleSyntax `import { type A }` still loads the module. */
  readonly typeOnly: boolean;
}

const isPunct = (token: Token | undefined, text: string): boolean => token?.kind === "punct" && token.text === text;
const isWord = (token: Token | undefined, text: string): boolean => token?.kind === "word" && token.text === text;

/** The literal of `import("x")`. A template counts when it has no substitution. */
function dynamicSpecifier(tokens: readonly Token[], open: number): string | undefined {
  const literal = tokens[open + 1];
  const after = tokens[open + 2];
  if (literal === undefined || (literal.kind !== "string" && literal.kind !== "template")) return undefined;
  return isPunct(after, ")") || isPunct(after, ",") ? literal.text : undefined;
}

/** The literal after `from`, when only what an import or export clause may hold stands before it. */
function clauseSpecifier(tokens: readonly Token[], start: number): string | undefined {
  let depth = 0;
  for (let at = start; at < tokens.length; at += 1) {
    const token = tokens[at];
    const next = tokens[at + 1];
    if (token === undefined) return undefined;
    if (isWord(token, "from") && next?.kind === "string") return next.text;
    if (isPunct(token, "{")) depth += 1;
    else if (isPunct(token, "}")) depth -= 1;
    else if (token.kind === "punct" && token.text !== "," && token.text !== "*") return undefined;
    else if (depth === 0 && (isWord(token, "import") || isWord(token, "export"))) return undefined;
  }
  return undefined;
}

/** `import type from "x"` and `import type, { a } from "x"` import a value that is called `type`. */
function isTypeOnly(tokens: readonly Token[], keyword: number): boolean {
  const next = tokens[keyword + 2];
  if (!isWord(tokens[keyword + 1], "type") || isPunct(next, ",")) return false;
  return !isWord(next, "from") || isWord(tokens[keyword + 3], "from");
}

function importAt(tokens: readonly Token[], at: number): string | undefined {
  const next = tokens[at + 1];
  if (next?.kind === "string") return next.text;
  if (isPunct(next, "(")) return dynamicSpecifier(tokens, at + 1);
  return clauseSpecifier(tokens, at + 1);
}

function exportAt(tokens: readonly Token[], at: number): string | undefined {
  const start = isTypeOnly(tokens, at) ? at + 2 : at + 1;
  return isPunct(tokens[start], "{") || isPunct(tokens[start], "*") ? clauseSpecifier(tokens, start) : undefined;
}

/** Every module that the source names in an import, a re-export or a dynamic import with a literal. */
export function scanImports(source: string): Import[] {
  const tokens = tokenize(source);
  const imports: Import[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.kind !== "word" || isPunct(tokens[at - 1], ".") || isPunct(tokens[at - 1], "?.")) continue;
    const read = token.text === "import" ? importAt : token.text === "export" ? exportAt : undefined;
    const specifier = read?.(tokens, at);
    if (specifier !== undefined) imports.push({ specifier, typeOnly: isTypeOnly(tokens, at) });
  }
  return imports;
}
