import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";

type Schema = JsonObject | boolean;
type Definitions = ReadonlyMap<string, JsonValue>;

const DROPPED = new Set(["$schema", "$defs", "definitions"]);
/** Keywords that hold one schema, a list of schemas, or schemas by name. Everything else is data and stays as it is. */
const ONE = new Set(["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties"]);
const LIST = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const NAMED = new Set(["properties", "patternProperties", "dependentSchemas"]);

const cache = new WeakMap<JsonObject, JsonObject>();

/**
 * A tool's input schema as models take it: no definitions (references are filled in, a recursive one accepts anything), no
 * `const`, no null beside a type, every array with `items` and every object with `properties`. The same object for the same input.
 */
export function modelSchema(parameters: JsonObject): JsonObject {
  const known = cache.get(parameters);
  if (known !== undefined) return known;
  const cleaned = clean(parameters, definitionsOf(parameters), []);
  const schema = typeof cleaned === "boolean" ? { type: "object", properties: {} } : cleaned;
  cache.set(parameters, schema);
  return schema;
}

function definitionsOf(root: JsonObject): Definitions {
  const definitions = new Map<string, JsonValue>();
  for (const keyword of ["$defs", "definitions"]) {
    const named = root[keyword];
    if (!isJsonObject(named)) continue;
    for (const [name, schema] of Object.entries(named)) definitions.set(`#/${keyword}/${name}`, schema);
  }
  return definitions;
}

function clean(value: JsonValue, definitions: Definitions, path: readonly string[]): Schema {
  if (!isJsonObject(value)) return typeof value === "boolean" ? value : {};
  const { $ref: ref, ...own } = value;
  if (typeof ref === "string") return cleanReference(ref, own, definitions, path);
  const result: Record<string, JsonValue> = {};
  for (const [keyword, child] of Object.entries(value)) {
    if (!DROPPED.has(keyword)) result[keyword] = cleanKeyword(keyword, child, (schema) => clean(schema, definitions, path));
  }
  return complete(withoutNull(result));
}

function cleanReference(ref: string, own: JsonObject, definitions: Definitions, path: readonly string[]): Schema {
  const target = path.includes(ref) ? undefined : definitions.get(ref);
  const filled = target === undefined ? {} : clean(target, definitions, [...path, ref]);
  if (typeof filled === "boolean") return filled;
  const beside = clean(own, definitions, path);
  return typeof beside === "boolean" ? beside : complete({ ...filled, ...beside });
}

function cleanKeyword(keyword: string, value: JsonValue, recurse: (schema: JsonValue) => Schema): JsonValue {
  if (ONE.has(keyword)) return recurse(value);
  if (LIST.has(keyword) && Array.isArray(value)) return value.map(recurse);
  if (NAMED.has(keyword) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, recurse(schema)]));
  }
  return value;
}

function isNullSchema(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  const { type, enum: values } = value;
  return type === "null" || (Array.isArray(values) && values.length === 1 && values[0] === null);
}

/** `T or null` becomes `T`: a model leaves out what it does not want to say. */
function withoutNull(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema;
  if (Array.isArray(anyOf) && anyOf.length === 2 && anyOf.some(isNullSchema)) {
    const only: JsonValue = anyOf.find((option) => !isNullSchema(option)) ?? {};
    return isJsonObject(only) ? { ...only, ...rest } : rest;
  }
  const { type } = schema;
  if (!Array.isArray(type) || !type.includes("null")) return schema;
  const types = type.filter((name) => name !== "null");
  const [first] = types;
  return { ...schema, type: types.length === 1 && first !== undefined ? first : types };
}

const isSame = (a: JsonValue, b: JsonValue): boolean => JSON.stringify(a) === JSON.stringify(b);

function complete(schema: JsonObject): Schema {
  const { const: only, enum: values, ...rest } = schema;
  if (only !== undefined && Array.isArray(values) && !values.some((value) => isSame(value, only))) return false;
  const { type, items = {}, properties = {} } = rest;
  const allowed = only === undefined ? values : [only];
  return {
    ...rest,
    ...(allowed === undefined ? undefined : { enum: allowed }),
    ...(type === "array" ? { items } : undefined),
    ...(type === "object" ? { properties } : undefined),
  };
}
