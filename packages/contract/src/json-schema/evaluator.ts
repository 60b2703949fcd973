import { isJsonObject, type JsonValue } from "../json.ts";
import type { Pattern } from "./pattern.ts";

/** A schema that takes too long, nests too deeply, or refers to what is not there. */
export class Unusable extends Error {}

/** What a keyword needs of the evaluation that it is part of. */
export interface Evaluator {
  /** By their sources, once compiled. */
  readonly patterns: Map<string, Pattern | "unsupported" | undefined>;
  /** What all patterns together may still cost: many short texts can take as long as a long one. */
  readonly patternSteps: { left: number };
  fail(problem: string): void;
  /** A part of the value. */
  within(key: string | number, schema: JsonValue, value: JsonValue): boolean;
  /** Whether it fits, with nothing told. */
  isFitting(schema: JsonValue, value: JsonValue): boolean;
}

/** What of an object or list was looked at by name or place; what is left is unevaluated. */
export class Seen {
  readonly names = new Set<string>();
  readonly places = new Set<number>();

  add(other: Seen): void {
    for (const name of other.names) this.names.add(name);
    for (const place of other.places) this.places.add(place);
  }
}

export const isSchema = (value: unknown): value is JsonValue => typeof value === "boolean" || isJsonObject(value);

export const schemasOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value.filter(isSchema) : []);
