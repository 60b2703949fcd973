import { AwakenError } from "../error.ts";

/** Whether a tool id matches; the whole id, case-sensitive. */
export type ToolPattern = (toolId: string) => boolean;

/** The literal texts between the stars, with escapes resolved, or what is wrong with the pattern. */
function splitPattern(pattern: string): readonly string[] | string {
  if (pattern === "") return "pattern is empty";
  const pieces: string[] = [];
  let piece = "";
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern.charAt(index);
    if (character === "*") {
      pieces.push(piece);
      piece = "";
    } else if (character === "\\") {
      index++;
      if (index === pattern.length) return "pattern ends with a dangling escape (`\\`)";
      piece += pattern.charAt(index);
    } else {
      piece += character;
    }
  }
  return [...pieces, piece];
}

/** What is wrong with a pattern, or undefined. */
export function toolPatternProblem(pattern: string): string | undefined {
  const pieces = splitPattern(pattern);
  return typeof pieces === "string" ? pieces : undefined;
}

/** `*` stands for any run of characters, `\` makes the next one literal, nothing else is special. Never backtracks. */
export function compileToolPattern(pattern: string): ToolPattern {
  const pieces = splitPattern(pattern);
  if (typeof pieces === "string") throw new AwakenError("invalid_spec", `invalid tool pattern '${pattern}': ${pieces}`);
  const [head = "", ...rest] = pieces;
  const tail = rest.pop();
  if (tail === undefined) return (toolId) => toolId === head;
  return (toolId) => {
    if (toolId.length < head.length + tail.length || !toolId.startsWith(head) || !toolId.endsWith(tail)) return false;
    const end = toolId.length - tail.length;
    let from = head.length;
    for (const piece of rest) {
      const found = toolId.indexOf(piece, from);
      if (found < 0 || found + piece.length > end) return false;
      from = found + piece.length;
    }
    return true;
  };
}
