/** One fenced block of a page. */
export interface DocBlock {
  readonly language: string;
  readonly code: string;
  /** The line of the page on which the code begins, from 1. */
  readonly line: number;
  /** What `<!-- sample: … -->` right above the fence says. */
  readonly note: string | undefined;
}

const NOTE = /^<!-- sample: (.+) -->$/;
const FENCE = /^```(\w*)\s*$/;

/** Fenced blocks in their order. A fence that is not closed, or a note without a fence below it, is an error. */
export function readBlocks(page: string, text: string): readonly DocBlock[] {
  const blocks: DocBlock[] = [];
  let open: { readonly language: string; readonly line: number; readonly code: string[] } | undefined;
  let note: string | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    if (open !== undefined) {
      if (line !== "```") {
        open.code.push(line);
        continue;
      }
      blocks.push({ language: open.language, code: open.code.join("\n"), line: open.line, note });
      open = undefined;
      note = undefined;
      continue;
    }
    const fence = FENCE.exec(line);
    if (fence !== null) open = { language: fence[1] ?? "", line: index + 2, code: [] };
    else if (note !== undefined) throw new Error(`${page}:${index}: a sample note stands right above its block`);
    else note = NOTE.exec(line)?.[1];
  }
  if (open !== undefined) throw new Error(`${page}:${open.line - 1}: the block is not closed`);
  if (note !== undefined) throw new Error(`${page}: a sample note stands right above its block`);
  return blocks;
}

/** How a sample is proven. */
export type SampleRule =
  /** A whole module. */
  | { readonly type: "module" }
  /** A whole module that others of its page may import by this name. */
  | { readonly type: "file"; readonly name: string }
  /** Compiled behind `docs/preambles/<name>`, with the ending of its language. */
  | { readonly type: "fragment"; readonly preamble: string }
  /** Its lines stand in this file, in their order. */
  | { readonly type: "printed"; readonly file: string };

export function readRule(page: string, { note, line }: DocBlock): SampleRule {
  if (note === undefined) return { type: "module" };
  const [key, value, ...rest] = note.split("=");
  if (value !== undefined && value !== "" && rest.length === 0) {
    if (key === "file") return { type: "file", name: value };
    if (key === "preamble") return { type: "fragment", preamble: value };
    if (key === "in") return { type: "printed", file: value };
  }
  throw new Error(`${page}:${line}: a sample note is file=…, preamble=… or in=…, got '${note}'`);
}

/** What stands for code that is left out; a spread has a name behind its dots. */
const GAP = /\.\.\.(?![\w([{"'`])/;

/** The first printed line that the file does not have below the ones before it. Indentation does not count. */
export function missingLine(printed: string, file: string): string | undefined {
  const lines = file.split("\n").map((line) => line.trim());
  let from = 0;
  for (const line of printed.split("\n").map((text) => text.trim())) {
    if (line === "") continue;
    const parts = line.split(GAP).map((part) => part.trim());
    const at = lines.findIndex((candidate, index) => index >= from && hasInOrder(candidate, parts));
    if (at < 0) return line;
    from = at + 1;
  }
  return undefined;
}

/** With one part: the same line. With several: they stand in it one after the other, from its start to its end. */
function hasInOrder(line: string, parts: readonly string[]): boolean {
  const [first = "", ...rest] = parts;
  if (rest.length === 0) return line === first;
  if (!line.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = line.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return line.endsWith(rest.at(-1) ?? "");
}
