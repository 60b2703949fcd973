import { isJson, type JsonObject } from "../json.ts";
import { expected, type Issue, message, oneOf, quote } from "./issue.ts";
import { define, type Fits, type Type } from "./type.ts";

type Test = (value: unknown) => boolean;

/** A value that is taken as it is, or not at all. */
/* @__NO_SIDE_EFFECTS__ */
function tested<Out, In = Out>(test: Test, issueOf: (value: unknown) => Issue, json: JsonObject, fits: Fits = test): Type<Out, In> {
  const run = (value: unknown, issues: Issue[]): unknown => {
    if (!test(value)) issues.push(issueOf(value));
    return value;
  };
  return define(run, () => json, fits);
}

/** A string that is not empty, and not of blanks alone. Most begin with a printable character of ASCII, which is seen at once. */
const isText: Test = (value) => {
  if (typeof value !== "string") return false;
  const code = value.charCodeAt(0);
  return (code > 0x20 && code < 0x7f) || value.trim() !== "";
};
const isString: Test = (value) => typeof value === "string";
const isBoolean: Test = (value) => typeof value === "boolean";

/* @__NO_SIDE_EFFECTS__ */
export const string = (): Type<string> => tested(isString, (value) => expected("a string", value), { type: "string" });
/* @__NO_SIDE_EFFECTS__ */
export const number = (): Type<number> => tested(Number.isFinite, (value) => expected("a finite number", value), { type: "number" });
/* @__NO_SIDE_EFFECTS__ */
export const boolean = (): Type<boolean> => tested(isBoolean, (value) => expected("true or false", value), { type: "boolean" });

/* @__NO_SIDE_EFFECTS__ */
export const int = (): Type<number> =>
  tested(Number.isSafeInteger, (value) => expected("an integer", value, typeof value === "number" ? String(value) : undefined), {
    type: "integer",
  });

/** A string that is not blank; `T` is how it is branded. */
/* @__NO_SIDE_EFFECTS__ */
export const text = <T extends string = string>(otherwise: string): Type<T, string> =>
  tested(isText, (value) => (isString(value) ? message(otherwise) : expected("a string", value)), { type: "string", pattern: "\\S" });

/** One of these, and which ones they are can be asked. */
export interface Choice<T> extends Type<T, T> {
  readonly values: readonly T[];
}

/* @__NO_SIDE_EFFECTS__ */
function choice<T extends string | number>(values: readonly T[], json: JsonObject): Choice<T> {
  const known: readonly unknown[] = values;
  const [only] = known;
  const isKnown: Test = known.length === 1 ? (value) => value === only : (value) => known.includes(value);
  const issueOf = (value: unknown) => expected(oneOf(values), value, typeof value === "string" ? quote(value) : undefined);
  return { ...tested<T>(isKnown, issueOf, json), values };
}

/* @__NO_SIDE_EFFECTS__ */
export const literal = <const T extends string | number>(value: T): Choice<T> => choice([value], { const: value });

/* @__NO_SIDE_EFFECTS__ */
const enumOf = <const T extends readonly string[]>(values: T): Choice<T[number]> => choice(values, { type: "string", enum: values });

export { enumOf as enum };

/** Anything that passes the test; `otherwise` is what to say, or what is wrong. */
/* @__NO_SIDE_EFFECTS__ */
export function custom<Out, In = Out>(test: Test, otherwise: string | ((value: unknown) => Issue), json: JsonObject = {}): Type<Out, In> {
  const issueOf = typeof otherwise === "string" ? () => message(otherwise) : otherwise;
  return tested(test, issueOf, json, (value, depth) => test(value) && isJson(value, depth));
}
