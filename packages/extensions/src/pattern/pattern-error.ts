import { AwakenError } from "@awaken/contract";

/** What is wrong with a pattern, and where: `at` counts UTF-16 units from its start. Thrown inside this folder; `patternError` is what callers see. */
export class PatternProblem extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

const MAX_SHOWN = 200;

/** The problem as an error of ours, which names the pattern and the position. */
export function patternError(pattern: string, { at, message }: PatternProblem): AwakenError {
  const shown = pattern.length > MAX_SHOWN ? `${pattern.slice(0, MAX_SHOWN)}…` : pattern;
  return new AwakenError("invalid_pattern", `parse error at ${at}: ${message} (in '${shown}')`, {
    details: { position: at, problem: message },
  });
}

/** Runs a parser; what it finds wrong is thrown as `invalid_pattern`. */
export function parsing<T>(pattern: string, parse: () => T): T {
  try {
    return parse();
  } catch (thrown) {
    if (thrown instanceof PatternProblem) throw patternError(pattern, thrown);
    throw thrown;
  }
}
