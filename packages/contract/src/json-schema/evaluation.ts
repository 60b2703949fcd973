import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import { sameJson } from "../store/record.ts";
import { checkItems, checkProperties, checkUnevaluated } from "./containers.ts";
import { type Evaluator, isSchema, Seen, schemasOf } from "./evaluator.ts";
import type { References } from "./references.ts";

import { checkNumber, checkString, describe, fitsType, isNullable } from "./values.ts";

/** A schema that takes too long, nests too deeply, or refers to what is not there. */
export class Unusable extends Error {}

const MAX_STEPS = 200_000;
const MAX_DEPTH = 1_500;
const MAX_SHOWN = 3;

const OLD_DRAFT = /draft-0[3-7]/;

/** One value against one schema: finds what is wrong, and where. */
export class Evaluation implements Evaluator {
  issues: string[] = [];
  readonly references: References;
  readonly patterns: Evaluator["patterns"];
  readonly #isOldDraft: boolean;
  readonly #path: (string | number)[] = [];
  #steps = 0;
  #depth = 0;

  constructor(root: JsonValue, references: References, patterns: Evaluator["patterns"]) {
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
  run(schema: JsonValue, value: JsonValue): readonly string[] {
    this.evaluate(schema, value, this.#look());
    return this.issues;
  }

  fail(problem: string): void {
    const path = this.#path.join(".");
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
    const { issues } = this;
    this.issues = [];
    const isFitting = this.evaluate(schema, value, seen);
    this.issues = issues;
    return isFitting;
  }

  evaluate(schema: JsonValue, value: JsonValue, seen: Seen | undefined): boolean {
    this.#steps += 1;
    if (this.#steps > MAX_STEPS) throw new Unusable("the schema takes too many steps to check");
    if (schema === false) this.fail("is not allowed");
    if (!isJsonObject(schema)) return schema !== false;
    if (this.#depth > MAX_DEPTH) throw new Unusable("the schema refers to itself without an end");
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
      this.fail(`must be ${Array.isArray(type) ? type.join(" or ") : String(type)}, got ${describe(value)}`);
    if (Array.isArray(choices) && !choices.some((choice) => sameJson(choice, value)))
      this.fail(`must be one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`);
    if (only !== undefined && !sameJson(only, value)) this.fail(`must be ${JSON.stringify(only)}`);
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
    const { issues } = this;
    const reasons = schemas.slice(0, MAX_SHOWN).map((schema) => {
      this.issues = [];
      this.evaluate(schema, value, this.#look());
      return this.issues[0] ?? "";
    });
    this.issues = issues;
    this.fail(`fits none of ${schemas.length} forms (${reasons.join("; or ")}${schemas.length > MAX_SHOWN ? "; …" : ""})`);
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
