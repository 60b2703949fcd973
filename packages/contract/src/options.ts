import { AwakenError, errorMessage } from "./error.ts";
import type { ErrorCode } from "./error-table.ts";
import { didYouMean } from "./nearest-name.ts";
import { describeType, quote } from "./schema/issue.ts";

/** What a part of an options object must be. One that is not needed may be left out, or be undefined. */
export interface PartRule {
  readonly what: string;
  readonly isNeeded: boolean;
  is(value: unknown): boolean;
}

/** A rule for every name that an options object may have. A name that is missing here, or too many, does not compile. */
export type PartRules<T> = { readonly [Name in keyof Required<T>]: PartRule };

/* @__NO_SIDE_EFFECTS__ */
export const partRule = (what: string, is: PartRule["is"]): PartRule => ({ what, is, isNeeded: false });
/* @__NO_SIDE_EFFECTS__ */
export const needed = (rule: PartRule): PartRule => ({ ...rule, isNeeded: true });

const hasMethods = (value: unknown, methods: readonly string[]): boolean =>
  typeof value === "object" && value !== null && methods.every((method) => typeof Reflect.get(value, method) === "function");

const isSchema = (value: unknown): boolean => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return hasMethods(Reflect.get(value, "~standard"), ["validate"]);
};

/** The rules that most parts have. */
export const RULES = {
  any: partRule("anything", () => true),
  text: partRule("a string", (value) => typeof value === "string"),
  name: partRule("a non-blank string", (value) => typeof value === "string" && value.trim() !== ""),
  flag: partRule("true or false", (value) => typeof value === "boolean"),
  millis: partRule("a number of milliseconds", (value) => typeof value === "number" && value >= 0),
  list: partRule("a list", Array.isArray),
  code: partRule("a function", (value) => typeof value === "function"),
  schema: partRule("a schema, of any Standard Schema library", isSchema),
  withMethods: (what: string, ...methods: readonly string[]) => partRule(what, (value) => hasMethods(value, methods)),
  oneOf: (...values: readonly string[]) => partRule(`one of ${values.join(", ")}`, (value) => values.some((known) => known === value)),
} as const;

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

interface NamedRules {
  readonly [name: string]: PartRule;
}

/** What is wrong with an options object: that it is none, names that nobody knows, parts that are something else. One line each. */
export function optionProblems(what: string, given: unknown, rules: NamedRules): readonly string[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return [`${what} must be an object, got ${describeType(given)}`];
  const problems: string[] = [];
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(rules, name)) problems.push(`unknown option ${quote(name)} of ${what}${didYouMean(name, Object.keys(rules))}`);
  }
  for (const name in rules) {
    const rule = rules[name];
    const value: unknown = Reflect.get(given, name);
    if (rule === undefined || (value === undefined ? !rule.isNeeded : rule.is(value))) continue;
    problems.push(`option '${name}' of ${what} must be ${rule.what}, got ${describeType(value)}`);
  }
  return problems;
}

/** Throws when something is wrong with an options object, all of it in one line. */
export function checkOptions(code: ErrorCode, what: string, given: unknown, rules: NamedRules): void {
  const problems = reading(code, what, () => optionProblems(what, given, rules));
  if (problems.length > 0) throw new AwakenError(code, problems.join("; "));
}
