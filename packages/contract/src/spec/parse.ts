import { AwakenError } from "../error.ts";
import { isJsonObject } from "../json.ts";
import type * as s from "../schema/all.ts";
import { describeType, shorten } from "../schema/issue.ts";
import { isSound } from "../schema/type.ts";
import { describeIssues } from "./describe-issues.ts";
import { copyPlain } from "./plain.ts";

/** What is parsed, for messages: `{ kind: "model", part: "spec", id: "fast" }`. */
export interface SpecPlace {
  readonly kind: string;
  readonly part?: "spec" | "patch" | "record";
  readonly id?: string;
}

/** The members of a plain copy; the schema has still to look at them. */
export type Members = Readonly<Record<string, unknown>>;

/** Throws `invalid_spec` with one kind of message: `invalid model spec: <problem> (model 'fast')`. */
export function refuseSpec(place: SpecPlace, problem: string): never {
  const { kind, part = "spec", id } = place;
  const where = id === undefined ? "" : ` (${kind} '${shorten(id)}')`;
  throw new AwakenError("invalid_spec", `invalid ${kind} ${part}: ${problem}${where}`, {
    details: { kind, part, ...(id === undefined ? {} : { id }) },
  });
}

/** The given value as a plain copy that shares nothing with it. */
export function readObject(place: SpecPlace, input: unknown): Members {
  const copy = copyPlain(input, (problem) => refuseSpec(place, problem));
  return isJsonObject(copy) ? copy : refuseSpec(place, `expected an object, got ${describeType(input)}`);
}

/** The given spec with the id that it is registered under; an id of its own must be the same one. */
export function readSpec(place: SpecPlace & { readonly id: string }, input: unknown): Members {
  const spec = readObject(place, input);
  const { id: own } = spec;
  if (own !== undefined && own !== place.id) {
    refuseSpec(place, `field 'id' must be '${shorten(place.id)}', the id it is registered under, or be left out`);
  }
  return { ...spec, id: place.id };
}

export function checkSchema<Out, In>(place: SpecPlace, schema: s.Type<Out, In>, value: unknown): Out {
  const issues: s.Issue[] = [];
  const read = schema.run(value, issues);
  return isSound<Out>(read, issues) ? read : refuseSpec(place, describeIssues(issues));
}

/** Parses a spec that has nothing special about it. */
export function parseSpec<Out, In>(kind: string, id: string, schema: s.Type<Out, In>, input: unknown): Out {
  const place = { kind, id };
  return checkSchema(place, schema, readSpec(place, input));
}
