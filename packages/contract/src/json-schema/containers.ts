import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { type Evaluator, type Seen, schemasOf } from "./evaluator.ts";
import { fitsPattern, shown } from "./values.ts";

const count = (value: JsonValue | undefined): number | undefined => (typeof value === "number" ? value : undefined);

/** The same text for what is the same as JSON, whatever the order of its keys. */
function keyOf(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(keyOf).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${keyOf(item)}`);
  return `{${entries.sort().join(",")}}`;
}

export function checkItems(on: Evaluator, schema: JsonObject, list: readonly JsonValue[], seen: Seen | undefined): void {
  const { minItems, maxItems, uniqueItems, items, prefixItems, additionalItems } = schema;
  if (list.length < (count(minItems) ?? 0)) on.fail(`must have at least ${count(minItems)} items`);
  if (list.length > (count(maxItems) ?? Number.POSITIVE_INFINITY)) on.fail(`must have at most ${count(maxItems)} items`);
  if (uniqueItems === true && new Set(list.map(keyOf)).size < list.length) on.fail("must not have an item twice");
  // Before 2020-12 a tuple was `items` with a list, and the rest of it `additionalItems`.
  const places = schemasOf(prefixItems ?? items);
  const rest = Array.isArray(items) ? additionalItems : items;
  for (const [place, item] of list.entries()) {
    const one = places[place] ?? (place < places.length ? undefined : rest);
    if (one === undefined || Array.isArray(one)) continue;
    on.within(place, one, item);
    seen?.places.add(place);
  }
  checkContains(on, schema, list, seen);
}

function checkContains(on: Evaluator, schema: JsonObject, list: readonly JsonValue[], seen: Seen | undefined): void {
  const { contains, minContains, maxContains } = schema;
  if (contains === undefined) return;
  const found = [...list.keys()].filter((place) => on.isFitting(contains, list[place] ?? null));
  for (const place of found) seen?.places.add(place);
  const least = count(minContains) ?? 1;
  if (found.length < least) on.fail(`must have at least ${least} items of a certain form`);
  if (found.length > (count(maxContains) ?? Number.POSITIVE_INFINITY))
    on.fail(`must have at most ${count(maxContains)} items of a certain form`);
}

export function checkProperties(on: Evaluator, schema: JsonObject, object: JsonObject, seen: Seen | undefined): void {
  const { minProperties, maxProperties, required, propertyNames } = schema;
  const names = Object.keys(object);
  if (names.length < (count(minProperties) ?? 0)) on.fail(`must have at least ${count(minProperties)} properties`);
  if (names.length > (count(maxProperties) ?? Number.POSITIVE_INFINITY)) on.fail(`must have at most ${count(maxProperties)} properties`);
  if (Array.isArray(required)) needAll(on, required, object);
  needDependents(on, schema, object);
  if (propertyNames !== undefined) {
    for (const name of names) if (!on.isFitting(propertyNames, name)) on.fail(`must not have a property '${shown(name)}'`);
  }
  for (const name of names) checkProperty(on, schema, object, name, seen);
}

function needAll(on: Evaluator, required: readonly JsonValue[], object: JsonObject): void {
  for (const name of required) if (typeof name === "string" && !Object.hasOwn(object, name)) on.fail(`'${shown(name)}' is missing`);
}

function needDependents(on: Evaluator, { dependentRequired, dependencies }: JsonObject, object: JsonObject): void {
  for (const dependents of [dependentRequired, dependencies]) {
    if (!isJsonObject(dependents)) continue;
    for (const [name, needed] of Object.entries(dependents)) {
      if (Array.isArray(needed) && Object.hasOwn(object, name)) needAll(on, needed, object);
    }
  }
}

function checkProperty(on: Evaluator, schema: JsonObject, object: JsonObject, name: string, seen: Seen | undefined): void {
  const { properties, patternProperties, additionalProperties } = schema;
  const value = object[name] ?? null;
  let isNamed = false;
  const check = (one: JsonValue | undefined) => {
    if (one === undefined) return;
    isNamed = true;
    on.within(name, one, value);
  };
  if (isJsonObject(properties) && Object.hasOwn(properties, name)) check(properties[name]);
  if (isJsonObject(patternProperties)) {
    for (const [pattern, one] of Object.entries(patternProperties)) if (fitsPattern(on, pattern, name)) check(one);
  }
  if (!isNamed && additionalProperties === false) {
    on.fail(`must not have a property '${shown(name)}'`);
    return;
  }
  if (!isNamed) check(additionalProperties);
  if (isNamed) seen?.names.add(name);
}

/** What nothing else of the schema looked at. */
export function checkUnevaluated(on: Evaluator, schema: JsonObject, value: JsonValue, seen: Seen | undefined): void {
  const { unevaluatedProperties, unevaluatedItems } = schema;
  if (unevaluatedProperties !== undefined && isJsonObject(value)) {
    for (const [name, item] of Object.entries(value)) {
      if (seen?.names.has(name)) continue;
      on.within(name, unevaluatedProperties, item);
      seen?.names.add(name);
    }
  }
  if (unevaluatedItems === undefined || !Array.isArray(value)) return;
  for (const [place, item] of value.entries()) {
    if (seen?.places.has(place)) continue;
    on.within(place, unevaluatedItems, item);
    seen?.places.add(place);
  }
}
