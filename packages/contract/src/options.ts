import { AwakenError, type ErrorCode, errorMessage } from "./error.ts";
import { didYouMean } from "./nearest-name.ts";
import { describeType, quote } from "./schema/issue.ts";

/** Every name that an options object may have. A name that is missing here, or too many, does not compile. */
export type Names<T> = { readonly [Name in keyof Required<T>]: true };

/**
 * Reads what a caller handed in. What his getters and proxies throw becomes an error of ours, with this code: whoever calls us can tell
 * his mistakes by their code, whatever he gives.
 */
export function reading<T>(code: ErrorCode, what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (AwakenError.is(cause)) throw cause;
    throw new AwakenError(code, `${what} cannot be read: ${errorMessage(cause)}`, { cause });
  }
}

/** What is wrong with an options object by itself: that it is none, or has names that nobody knows. One line each. */
export function optionProblems(what: string, given: unknown, known: { readonly [name: string]: true }): readonly string[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return [`${what} must be an object, got ${describeType(given)}`];
  const names = Object.keys(known);
  return Object.keys(given)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `unknown option ${quote(name)} of ${what}${didYouMean(name, names)}`);
}

/** Throws when something is wrong with an options object by itself. Values are not looked at. */
export function checkOptions(code: ErrorCode, what: string, given: unknown, known: { readonly [name: string]: true }): void {
  const problems = reading(code, what, () => optionProblems(what, given, known));
  if (problems.length > 0) throw new AwakenError(code, problems.join("; "));
}
