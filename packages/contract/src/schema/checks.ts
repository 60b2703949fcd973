import type { JsonObject } from "../json.ts";
import { type Issue, message, problem } from "./issue.ts";
import type { Check } from "./type.ts";

/** Reports as many issues as it finds. */
/* @__NO_SIDE_EFFECTS__ */
export function rule<T>(find: (value: NoInfer<T>, report: (issue: Issue) => void) => void, json: JsonObject = {}): Check<T> {
  return {
    run(value, issues) {
      find(value, (issue) => issues.push(issue));
      return value;
    },
    holds(value) {
      let isSound = true;
      find(value, () => {
        isSound = false;
      });
      return isSound;
    },
    json,
  };
}

/* @__NO_SIDE_EFFECTS__ */
function test<T>(passes: (value: T) => boolean, issueOf: (value: T) => Issue, json: JsonObject): Check<T> {
  return {
    run(value, issues) {
      if (!passes(value)) issues.push(issueOf(value));
      return value;
    },
    holds: passes,
    json,
  };
}

/* @__NO_SIDE_EFFECTS__ */
export const refine = <T>(passes: (value: NoInfer<T>) => boolean, otherwise: string): Check<T> =>
  test(passes, () => message(otherwise), {});

/* @__NO_SIDE_EFFECTS__ */
export const atLeast = (minimum: number): Check<number> =>
  test(
    (value) => value >= minimum,
    (value) => problem(`must be at least ${minimum}, got ${value}`),
    { minimum },
  );
/* @__NO_SIDE_EFFECTS__ */
export const atMost = (maximum: number): Check<number> =>
  test(
    (value) => value <= maximum,
    (value) => problem(`must be at most ${maximum}, got ${value}`),
    { maximum },
  );
/* @__NO_SIDE_EFFECTS__ */
export const positive = (): Check<number> =>
  test(
    (value) => value > 0,
    () => problem("must be greater than zero"),
    { exclusiveMinimum: 0 },
  );

/** Not empty, and not of blanks alone. */
/* @__NO_SIDE_EFFECTS__ */
export const notBlank = (otherwise = "cannot be empty"): Check<string> =>
  test(
    (text) => text.trim() !== "",
    () => problem(otherwise),
    { pattern: "\\S" },
  );

const change = (of: (text: string) => string): Check<string> => ({ run: of, holds: (text) => of(text) === text, json: {} });
/* @__NO_SIDE_EFFECTS__ */
export const trim = (): Check<string> => change((text) => text.trim());
/* @__NO_SIDE_EFFECTS__ */
export const toLowerCase = (): Check<string> => change((text) => text.toLowerCase());

/** Says more about the value in its JSON Schema. */
/* @__NO_SIDE_EFFECTS__ */
export const meta = <T>(json: JsonObject): Check<T> => ({ run: (value) => value, holds: () => true, json });
