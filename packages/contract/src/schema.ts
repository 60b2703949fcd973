import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { AwakenError, errorMessage } from "./error.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { perObject } from "./per-object.ts";

/** Any Standard Schema (zod, valibot, arktype, …) that yields a `T`: only what we use of it, which is quicker to infer from. */
export interface Schema<T = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => Result<T> | Promise<Result<T>>;
  };
}

export type Validated<T> = { readonly type: "valid"; readonly value: T } | { readonly type: "invalid"; readonly message: string };

type Result<T> = StandardSchemaV1.Result<T>;

function describeIssue(issue: StandardSchemaV1.Issue): string {
  const path = (issue.path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment)).join(".");
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}

function toValidated<T>(result: Result<T>): Validated<T> {
  if (result.issues === undefined) return { type: "valid", value: result.value };
  return { type: "invalid", message: result.issues.map(describeIssue).join("; ") };
}

/** Any promise, of whatever make. */
const isThenable = <T>(value: T | PromiseLike<T>): value is PromiseLike<T> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";

/** Validates without throwing; a schema that throws counts as "invalid". Returns a promise only if the schema is asynchronous. */
export function validate<T>(schema: Schema<T>, value: unknown): Validated<T> | Promise<Validated<T>> {
  try {
    const result = schema["~standard"].validate(value);
    if (!isThenable(result)) return toValidated(result);
    return Promise.resolve(result).then(toValidated, (thrown) => ({ type: "invalid", message: errorMessage(thrown) }));
  } catch (thrown) {
    return { type: "invalid", message: errorMessage(thrown) };
  }
}

/** As `validate`, for places that cannot wait: an asynchronous schema is "invalid" there. */
export function validateSync<T>(schema: Schema<T>, value: unknown): Validated<T> {
  const result = validate(schema, value);
  if (!(result instanceof Promise)) return result;
  return { type: "invalid", message: "the schema is asynchronous; a synchronous one is needed here" };
}

function hasJsonSchema(schema: Schema): schema is Schema & StandardJSONSchemaV1 {
  return "jsonSchema" in schema["~standard"];
}

/** The JSON Schema of what may be *given* to the schema. Needs a library that implements Standard JSON Schema. */
export function toJsonSchema(schema: Schema): JsonObject {
  if (!hasJsonSchema(schema)) {
    throw new AwakenError("invalid_schema", `schema of vendor '${schema["~standard"].vendor}' cannot be turned into JSON Schema`);
  }
  try {
    const json: unknown = schema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
    if (isJsonObject(json)) return json;
  } catch (cause) {
    throw new AwakenError("invalid_schema", `schema cannot be turned into JSON Schema: ${errorMessage(cause)}`, { cause });
  }
  throw new AwakenError("invalid_schema", "schema library returned no JSON Schema object");
}

/** Ways of a JSON Schema to allow fields that `properties` does not name. */
const OPENINGS = ["patternProperties", "unevaluatedProperties", "propertyNames", "allOf", "anyOf", "oneOf", "$ref", "if"];

interface Fields {
  readonly known: readonly string[] | undefined;
}

const UNKNOWN: Fields = { known: undefined };

const fieldsOf = perObject((schema: Schema): Fields => {
  if (!hasJsonSchema(schema)) return UNKNOWN;
  let json: JsonObject;
  try {
    json = toJsonSchema(schema);
  } catch {
    return UNKNOWN;
  }
  const { properties, additionalProperties = false } = json;
  const isClosed = additionalProperties === false && OPENINGS.every((name) => json[name] === undefined);
  return isClosed && isJsonObject(properties) ? { known: Object.keys(properties) } : UNKNOWN;
});

/** The fields that a schema of objects knows, where it can tell and takes no others. Libraries drop others without a word. */
export const knownFields = (schema: Schema): readonly string[] | undefined => fieldsOf(schema).known;
