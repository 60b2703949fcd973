import { compileLinear } from "@awaken/contract/json-schema";
import { PatternProblem } from "./pattern-error.ts";

/** Whether a text has something that the expression matches. Throws when it would take too long. */
export type Regex = (text: string) => boolean;

/** A call may have any size; what takes more than this is refused, and whoever asked has to be on the safe side. */
const MAX_STEPS = 5_000_000;

interface Group {
  /** Whether something in it repeats without a limit. */
  repeats: boolean;
}

const LOOKAROUND = /^\(\?(?:=|!|<=|<!)/;
const UNBOUNDED = /^(?:[*+]|\{\d+,\})/;

/** Where the class that begins at `at` ends. */
function skipClass(source: string, at: number): number {
  let end = at + 1;
  while (end < source.length && source[end] !== "]") end += source[end] === "\\" ? 2 : 1;
  return end + 1;
}

/** Refuses what cannot be matched in linear time, or by an expression that repeats repeats. */
function refuseCostly(source: string, offset: number): void {
  const groups: Group[] = [{ repeats: false }];
  const refuse = (at: number, what: string): never => {
    throw new PatternProblem(offset + at, `${what} in a regular expression`);
  };
  let at = 0;
  while (at < source.length) {
    const start = at;
    let inner: Group | undefined;
    const character = source[at];
    if (character === "\\") {
      if (/^\\(?:[1-9]|k<)/.test(source.slice(at, at + 3))) refuse(at, "a back-reference");
      at += 2;
    } else if (character === "[") at = skipClass(source, at);
    else if (character === "(") {
      if (LOOKAROUND.test(source.slice(at, at + 4))) refuse(at, "look-around");
      groups.push({ repeats: false });
      at += 1;
      continue;
    } else {
      if (character === ")" && groups.length > 1) inner = groups.pop();
      at += 1;
    }
    const around = groups.at(-1);
    const isRepeated = UNBOUNDED.test(source.slice(at, at + 12));
    if (isRepeated && inner?.repeats === true) refuse(start, "a repeat of a repeat without a limit");
    if (around !== undefined && (isRepeated || inner?.repeats === true)) around.repeats = true;
  }
}

/** The matcher of an expression that is part of a longer pattern and begins there at `offset`. Throws a `PatternProblem`. */
export function readRegex(source: string, offset: number): Regex {
  if (source === "") throw new PatternProblem(offset, "an empty regular expression");
  refuseCostly(source, offset);
  const compiled = compileLinear(source, MAX_STEPS);
  if (compiled === undefined) throw new PatternProblem(offset, "no regular expression");
  if (compiled === "unsupported") throw new PatternProblem(offset, "a regular expression that cannot be matched in linear time");
  return compiled;
}
