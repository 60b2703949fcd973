import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";

const DROPPED = new Set(["$schema", "$defs", "definitions", "$ref"]);
const SCHEMA_MAPS = new Set(["properties", "patternProperties", "dependentSchemas"]);
const SCHEMA_LISTS = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const SCHEMAS = new Set([
  "items",
  "additionalItems",
  "additionalProperties",
  "contains",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

const isList = (value: JsonValue | undefined): value is readonly JsonValue[] => Array.isArray(value);
const isSame = (a: JsonValue, b: JsonValue): boolean => JSON.stringify(a) === JSON.stringify(b);

function isNullSchema(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  const { type, const: constant } = value;
  return type === "null" || constant === null;
}

interface Place {
  readonly root: JsonObject;
  /** The references that led here. */
  readonly path: readonly string[];
}

function lookUp(root: JsonObject, pointer: string): JsonValue | undefined {
  if (pointer === "#") return root;
  if (!pointer.startsWith("#/")) return undefined;
  let found: JsonValue | undefined = root;
  for (const step of pointer.slice(2).split("/")) {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}

/** Puts the definition in place of a reference, because definitions are dropped. Where a type contains itself, anything goes. */
function inline(schema: JsonObject, place: Place): [JsonObject, Place] {
  const { $ref: ref, ...beside } = schema;
  if (typeof ref !== "string") return [schema, place];
  const target = place.path.includes(ref) ? undefined : lookUp(place.root, ref);
  if (!isJsonObject(target)) return [beside, place];
  return inline({ ...target, ...beside }, { ...place, path: [...place.path, ref] });
}

/** `T or null` becomes `T`: a tool takes a missing value for null. */
function dropNull(schema: JsonObject): JsonObject {
  for (const key of ["anyOf", "oneOf"]) {
    const { [key]: choices, ...rest } = schema;
    if (!isList(choices)) continue;
    const others = choices.filter((choice) => !isNullSchema(choice));
    const [only] = others;
    if (others.length === 1 && others.length < choices.length && isJsonObject(only)) return dropNull({ ...only, ...rest });
  }
  const { type, enum: values } = schema;
  if (!isList(type) || !type.includes("null") || type.length === 1) return schema;
  const types = type.filter((name) => name !== "null");
  const [first] = types;
  const kept = isList(values) ? { enum: values.filter((value) => value !== null) } : {};
  return { ...schema, ...kept, type: types.length === 1 && first !== undefined ? first : types };
}

/** Undefined when the constant is not one of the listed values: nothing fits. */
function constToEnum(schema: JsonObject): JsonObject | undefined {
  const { const: constant, ...rest } = schema;
  if (constant === undefined) return schema;
  const { enum: values } = rest;
  if (isList(values) && !values.some((value) => isSame(value, constant))) return undefined;
  return { ...rest, enum: [constant] };
}

function cleanChild(key: string, value: JsonValue, place: Place): JsonValue {
  if (SCHEMA_MAPS.has(key) && isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, clean(child, place)]));
  }
  if (isList(value) && (SCHEMA_LISTS.has(key) || key === "items")) return value.map((child) => clean(child, place));
  return SCHEMAS.has(key) ? clean(value, place) : value;
}

function clean(value: JsonValue, from: Place): JsonValue {
  if (!isJsonObject(value)) return value;
  const [inlined, place] = inline(value, from);
  const single = dropNull(inlined);
  if (single !== inlined && "$ref" in single) return clean(single, place);
  const schema = constToEnum(single);
  if (schema === undefined) return false;
  const kept = Object.entries(schema).filter(([key]) => !DROPPED.has(key));
  const cleaned: JsonObject = Object.fromEntries(kept.map(([key, child]) => [key, cleanChild(key, child, place)]));
  const { type, items, properties } = cleaned;
  const isA = (name: string) => type === name || (isList(type) && type.includes(name));
  return {
    ...cleaned,
    ...(isA("array") && items === undefined && { items: {} }),
    ...(isA("object") && properties === undefined && { properties: {} }),
  };
}

/** A JSON Schema in the subset that every vendor takes: no references, no `const`, no "or null", no bare arrays or objects. */
export function cleanSchema(schema: JsonObject): JsonObject {
  const cleaned = clean(schema, { root: schema, path: [] });
  return isJsonObject(cleaned) ? cleaned : { type: "object", properties: {} };
}
