import type { JsonObject } from "../json.ts";
import { type Issue, message, problem } from "./issue.ts";
import type { Check } from "./type.ts";

/** Reports as many issues as it finds. */
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

export const refine = <T>(passes: (value: NoInfer<T>) => boolean, otherwise: string): Check<T> =>
  test(passes, () => message(otherwise), {});

export const atLeast = (minimum: number): Check<number> =>
  test(
    (value) => value >= minimum,
    (value) => problem(`must be at least ${minimum}, got ${value}`),
    { minimum },
  );
export const atMost = (maximum: number): Check<number> =>
  test(
    (value) => value <= maximum,
    (value) => problem(`must be at most ${maximum}, got ${value}`),
    { maximum },
  );
export const positive = (): Check<number> =>
  test(
    (value) => value > 0,
    () => problem("must be greater than zero"),
    { exclusiveMinimum: 0 },
  );

/** Not empty, and not of blanks alone. */
export const notBlank = (otherwise = "cannot be empty"): Check<string> =>
  test(
    (text) => text.trim() !== "",
    () => problem(otherwise),
    { pattern: "\\S" },
  );

const change = (of: (text: string) => string): Check<string> => ({ run: of, holds: (text) => of(text) === text, json: {} });
export const trim = (): Check<string> => change((text) => text.trim());
export const toLowerCase = (): Check<string> => change((text) => text.toLowerCase());

/** Says more about the value in its JSON Schema. */
export const meta = <T>(json: JsonObject): Check<T> => ({ run: (value) => value, holds: () => true, json });
