import { isJsonObject, type JsonObject, type JsonValue, sameJson } from "../json.ts";
import { checkItems, checkProperties, checkUnevaluated } from "./containers.ts";
import { type Evaluator, isSchema, Seen, schemasOf, Unusable } from "./evaluator.ts";
import type { References } from "./references.ts";
import { checkNumber, checkString, describe, fitsType, isNullable, shown } from "./values.ts";

/** And as many for each part of a large value. */
const MAX_STEPS = 200_000;
const STEPS_PER_PART = 8;
const MAX_PATTERN_STEPS = 4_000_000;
const MAX_DEPTH = 1_000;
const MAX_SHOWN = 3;
const MAX_CHOICES = 20;
/** How many unions inside each other are explained: each of them asks again for the reasons of those inside. */
const MAX_EXPLAINED = 2;

const OLD_DRAFT = /draft-0[3-7]/;

const sizeOf = (value: JsonValue): number =>
  typeof value === "object" && value !== null ? Object.values<JsonValue>(value).reduce<number>((sum, one) => sum + sizeOf(one), 1) : 1;

/** One value against one schema: finds what is wrong, and where. */
export class Evaluation implements Evaluator {
  issues: string[] = [];
  readonly references: References;
  readonly patterns: Evaluator["patterns"];
  readonly #isOldDraft: boolean;
  readonly #path: (string | number)[] = [];
  readonly patternSteps = { left: MAX_PATTERN_STEPS };
  /** What was found where nobody asks why: unions inside unions ask for the same again and again. */
  readonly #found = new Map<JsonObject, Map<JsonValue, boolean>>();
  readonly #choices = new Map<readonly JsonValue[], ReadonlySet<JsonValue>>();
  readonly #value: JsonValue;
  #maxSteps = MAX_STEPS;
  #steps = 0;
  #depth = 0;
  #isQuiet = false;
  #explained = 0;

  constructor(root: JsonValue, value: JsonValue, references: References, patterns: Evaluator["patterns"]) {
    this.#value = value;
    this.references = references;
    this.patterns = patterns;
    const dialect = isJsonObject(root) ? root["$schema"] : undefined;
    this.#isOldDraft = typeof dialect === "string" && OLD_DRAFT.test(dialect);
  }

  /** Only kept when somebody asks for what is left. */
  #look(): Seen | undefined {
    return this.references.hasUnevaluated ? new Seen() : undefined;
  }

  /** The whole value against the whole schema. */
  run(schema: JsonValue): readonly string[] {
    this.evaluate(schema, this.#value, this.#look());
    return this.issues;
  }

  fail(problem: string): void {
    const path = this.#isQuiet ? "" : shown(this.#path.join("."));
    this.issues.push(path === "" ? problem : `${path}: ${problem}`);
  }

  /** A part of the value. */
  within(key: string | number, schema: JsonValue, value: JsonValue): boolean {
    this.#path.push(key);
    const isFitting = this.evaluate(schema, value, this.#look());
    this.#path.pop();
    return isFitting;
  }

  /** Whether it fits, with nothing told. */
  isFitting(schema: JsonValue, value: JsonValue, seen = this.#look()): boolean {
    const issues = this.issues;
    const isQuiet = this.#isQuiet;
    this.issues = [];
    this.#isQuiet = true;
    const isFitting = this.evaluate(schema, value, seen);
    this.issues = issues;
    this.#isQuiet = isQuiet;
    return isFitting;
  }

  #count(): void {
    this.#steps += 1;
    if (this.#steps <= this.#maxSteps) return;
    this.#maxSteps = MAX_STEPS + STEPS_PER_PART * sizeOf(this.#value);
    if (this.#steps > this.#maxSteps) throw new Unusable("the schema takes too many steps to check");
  }

  evaluate(schema: JsonValue, value: JsonValue, seen: Seen | undefined): boolean {
    this.#count();
    if (schema === false) this.fail("is not allowed");
    if (!isJsonObject(schema)) return schema !== false;
    if (!this.#isQuiet || seen !== undefined || typeof value !== "object") return this.#evaluate(schema, value, seen);
    const found = this.#found.get(schema) ?? new Map<JsonValue, boolean>();
    this.#found.set(schema, found);
    const known = found.get(value);
    if (known === false) this.fail("");
    if (known !== undefined) return known;
    const isFitting = this.#evaluate(schema, value, seen);
    found.set(value, isFitting);
    return isFitting;
  }

  #evaluate(schema: JsonObject, value: JsonValue, seen: Seen | undefined): boolean {
    if (this.#depth > MAX_DEPTH) throw new Unusable("the schema refers to itself without an end, or nests too deeply with the value");
    const before = this.issues.length;
    this.#depth += 1;
    if (!this.#follow(schema, value, seen)) this.#check(schema, value, seen);
    this.#depth -= 1;
    return this.issues.length === before;
  }

  /** True when nothing beside the ref counts. */
  #follow(schema: JsonObject, value: JsonValue, seen: Seen | undefined): boolean {
    for (const key of ["$ref", "$dynamicRef", "$recursiveRef"]) {
      const ref = schema[key];
      if (typeof ref !== "string") continue;
      const target = this.references.resolve(schema, ref);
      if (target === undefined) throw new Unusable(`the schema refers to '${ref}', which it does not have`);
      this.#also(target, value, seen);
      if (this.#isOldDraft) return true;
    }
    return false;
  }

  #check(schema: JsonObject, value: JsonValue, seen: Seen | undefined): void {
    this.#values(schema, value);
    if (typeof value === "string") checkString(this, schema, value);
    else if (typeof value === "number") checkNumber(this, schema, value);
    else if (Array.isArray(value)) checkItems(this, schema, value, seen);
    else if (isJsonObject(value)) checkProperties(this, schema, value, seen);
    this.#combine(schema, value, seen);
    if (isJsonObject(value) && isJsonObject(schema["dependentSchemas"] ?? schema["dependencies"])) this.#depend(schema, value, seen);
    checkUnevaluated(this, schema, value, seen);
  }

  #values(schema: JsonObject, value: JsonValue): void {
    const { type, enum: choices, const: only } = schema;
    if (type !== undefined && !fitsType(type, value) && !(value === null && isNullable(schema)))
      this.fail(`must be ${shown(Array.isArray(type) ? type.join(" or ") : String(type))}, got ${describe(value)}`);
    if (Array.isArray(choices) && !this.#isAmong(choices, value)) {
      const some = choices.slice(0, MAX_CHOICES).map((choice) => shown(JSON.stringify(choice)));
      this.fail(`must be one of ${some.join(", ")}${choices.length > MAX_CHOICES ? `, or ${choices.length - MAX_CHOICES} others` : ""}`);
    }
    if (only !== undefined && !sameJson(only, value)) this.fail(`must be ${shown(JSON.stringify(only))}`);
  }

  #isAmong(choices: readonly JsonValue[], value: JsonValue): boolean {
    if (typeof value === "object" && value !== null) return choices.some((choice) => sameJson(choice, value));
    const known = this.#choices.get(choices) ?? new Set(choices);
    this.#choices.set(choices, known);
    return known.has(value);
  }

  /** A schema about the same value: what it looked at counts when it fits. */
  #also(schema: JsonValue, value: JsonValue, seen: Seen | undefined): boolean {
    const looked = this.#look();
    const isFitting = this.evaluate(schema, value, looked);
    if (isFitting && looked !== undefined) seen?.add(looked);
    return isFitting;
  }

  #tries(schema: JsonValue, value: JsonValue, seen: Seen | undefined): boolean {
    const looked = this.#look();
    const isFitting = this.isFitting(schema, value, looked);
    if (isFitting && looked !== undefined) seen?.add(looked);
    return isFitting;
  }

  #combine(schema: JsonObject, value: JsonValue, seen: Seen | undefined): void {
    const { allOf, anyOf, oneOf, not, if: condition, then: yes, else: no } = schema;
    for (const one of schemasOf(allOf)) this.#also(one, value, seen);
    this.#anyOf(schemasOf(anyOf), value, seen);
    if (Array.isArray(oneOf)) this.#oneOf(schemasOf(oneOf), value, seen);
    if (isSchema(not) && this.isFitting(not, value)) this.fail("is of a form that is not allowed");
    if (!isSchema(condition)) return;
    const branch = this.#tries(condition, value, seen) ? yes : no;
    if (isSchema(branch)) this.#also(branch, value, seen);
  }

  #anyOf(schemas: readonly JsonValue[], value: JsonValue, seen: Seen | undefined): void {
    if (schemas.length === 0) return;
    // All are tried only when it matters what each of them looked at.
    let isFitting = false;
    for (const one of schemas) {
      if (isFitting && !this.references.hasUnevaluated) return;
      isFitting = this.#tries(one, value, seen) || isFitting;
    }
    if (!isFitting) this.#failAll(schemas, value);
  }

  #oneOf(schemas: readonly JsonValue[], value: JsonValue, seen: Seen | undefined): void {
    const fitting = schemas.filter((one) => this.#tries(one, value, seen)).length;
    if (fitting > 1) this.fail(`must fit exactly one of ${schemas.length} forms, and fits ${fitting}`);
    else if (fitting === 0) this.#failAll(schemas, value);
  }

  #failAll(schemas: readonly JsonValue[], value: JsonValue): void {
    if (this.#isQuiet || this.#explained === MAX_EXPLAINED) {
      this.fail(`fits none of ${schemas.length} forms`);
      return;
    }
    const { issues } = this;
    this.#explained += 1;
    const reasons = schemas.slice(0, MAX_SHOWN).map((schema) => {
      this.issues = [];
      this.evaluate(schema, value, this.#look());
      return this.issues[0] ?? "";
    });
    this.#explained -= 1;
    this.issues = issues;
    this.fail(`fits none of ${schemas.length} forms (${[...new Set(reasons)].join("; or ")}${schemas.length > MAX_SHOWN ? "; …" : ""})`);
  }

  #depend(schema: JsonObject, value: JsonObject, seen: Seen | undefined): void {
    for (const key of ["dependentSchemas", "dependencies"]) {
      const dependents = schema[key];
      if (!isJsonObject(dependents)) continue;
      for (const [name, one] of Object.entries(dependents)) {
        if (Object.hasOwn(value, name) && isSchema(one)) this.#also(one, value, seen);
      }
    }
  }
}
