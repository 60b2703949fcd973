import type { JsonObject, JsonValue } from "../json.ts";
import type { Evaluator } from "./evaluator.ts";
import { matches } from "./match.ts";
import { compilePattern } from "./pattern.ts";

export function describe(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

const MAX_TEXT = 200;

/** For a message that a model reads: a choice or a name may be as long as the schema's author, or whoever wrote the value, likes. */
export const shown = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);

function isOfType(type: JsonValue, value: JsonValue): boolean {
  switch (type) {
    case "integer":
      return typeof value === "number" && Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
    case "object":
    case "array":
    case "null":
      return describe(value) === type;
    default:
      // A type that nobody knows asks for nothing.
      return true;
  }
}

export const fitsType = (type: JsonValue, value: JsonValue): boolean =>
  Array.isArray(type) ? type.some((one) => isOfType(one, value)) : isOfType(type, value);

/** As OpenAPI 3.0 says it. */
export const isNullable = (schema: JsonObject): boolean => schema["nullable"] === true;

function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

/** A pattern that cannot be matched in linear time is not checked; one that is no regular expression fits nothing. */
export function fitsPattern({ patterns, patternSteps }: Evaluator, source: string, text: string): boolean {
  if (!patterns.has(source)) patterns.set(source, compilePattern(source));
  const pattern = patterns.get(source);
  if (pattern === undefined) return false;
  return pattern === "unsupported" || matches(pattern, text, patternSteps);
}

export function checkString(on: Evaluator, schema: JsonObject, value: string): void {
  const { minLength, maxLength, pattern } = schema;
  if (typeof minLength === "number" && lengthOf(value) < minLength) on.fail(`must have at least ${minLength} characters`);
  if (typeof maxLength === "number" && lengthOf(value) > maxLength) on.fail(`must have at most ${maxLength} characters`);
  if (typeof pattern === "string" && !fitsPattern(on, pattern, value)) on.fail(`must match ${shown(pattern)}`);
}

function isMultiple(value: number, of: number): boolean {
  const times = value / of;
  // What a division of two decimals may be off by, and no more: 1.0000000001 is no multiple of 0.1.
  return Math.abs(times - Math.round(times)) <= 4 * Number.EPSILON * Math.abs(times);
}

export function checkNumber(on: Evaluator, schema: JsonObject, value: number): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  // Draft 4 and OpenAPI 3.0 say `exclusiveMinimum: true` beside the minimum.
  const above = exclusiveMinimum === true ? minimum : exclusiveMinimum;
  const below = exclusiveMaximum === true ? maximum : exclusiveMaximum;
  if (typeof minimum === "number" && value < minimum) on.fail(`must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) on.fail(`must be at most ${maximum}`);
  if (typeof above === "number" && value <= above) on.fail(`must be above ${above}`);
  if (typeof below === "number" && value >= below) on.fail(`must be below ${below}`);
  if (typeof multipleOf === "number" && multipleOf > 0 && !isMultiple(value, multipleOf)) on.fail(`must be a multiple of ${multipleOf}`);
}
