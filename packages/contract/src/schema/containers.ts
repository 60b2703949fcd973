import { isJson, isJsonObject, isPlainList, isPlainObject, type JsonValue } from "../json.ts";
import { describeType, expected, type Issue, nearest, oneOf, problem, quote } from "./issue.ts";
import { define, type Fits, type input, type output, type Run, type Type } from "./type.ts";
import { boolean, type Choice, number, string } from "./values.ts";
import { optional } from "./wrappers.ts";

type CanMiss = { readonly optional: "both" };
type NeedNot = { readonly optional: "both" | "input" };
type Flat<T> = { [Key in keyof T]: T[Key] };
type PartOf<T> = { [Key in keyof T]?: T[Key] | undefined };

export interface Fields {
  readonly [name: string]: Type;
}

type OutputOf<F extends Fields> = Flat<
  { -readonly [Key in keyof F as F[Key] extends CanMiss ? never : Key]: output<F[Key]> } & {
    -readonly [Key in keyof F as F[Key] extends CanMiss ? Key : never]?: output<F[Key]>;
  }
>;
type InputOf<F extends Fields> = Flat<
  { -readonly [Key in keyof F as F[Key] extends NeedNot ? never : Key]: input<F[Key]> } & {
    -readonly [Key in keyof F as F[Key] extends NeedNot ? Key : never]?: input<F[Key]>;
  }
>;

export interface ObjectType<F extends Fields, Out = OutputOf<F>, In = InputOf<F>> extends Type<Out, In> {
  readonly fields: F;
}

/** Reads a part and says where it lies. */
function runAt(run: Run, key: PropertyKey, value: unknown, issues: Issue[]): unknown {
  const before = issues.length;
  const read = run(value, issues);
  for (let index = before; index < issues.length; index++) issues[index]?.path.unshift(key);
  return read;
}

interface Field {
  readonly key: string;
  readonly fits: Fits;
  readonly isRequired: 0 | 1;
}

/* @__NO_SIDE_EFFECTS__ */
function fitsObject(types: Fields, others: Others): Fits {
  const fields = new Map<string, Field>();
  for (const [key, { fits, optional }] of Object.entries(types)) fields.set(key, { key, fits, isRequired: optional === "both" ? 0 : 1 });
  const count = [...fields.values()].filter((field) => field.isRequired === 1).length;
  const rest: Field | undefined = typeof others === "string" ? undefined : { key: "", fits: others.fits, isRequired: 0 };
  // The named keys of one object mostly come in the order of the one before it: then none has to be looked up. Others are not kept: a schema is there for ever.
  const last: Field[] = [];
  return (value, depth) => {
    if (!isPlainObject(value)) return false;
    let missing = count;
    let at = 0;
    for (const key in value) {
      let field: Field | undefined = last[at];
      if (field?.key !== key) {
        field = fields.get(key);
        if (field !== undefined) last[at] = field;
        else field = key === "__proto__" ? undefined : rest;
        if (field === undefined) return false;
      }
      if (!field.fits(value[key], depth + 1)) return false;
      missing -= field.isRequired;
      at++;
    }
    return missing === 0;
  };
}

/** What becomes of fields that are not named. */
type Others = "drop" | "refuse" | Type;

/* @__NO_SIDE_EFFECTS__ */
function objectOf<F extends Fields, Out, In>(fields: F, others: Others): ObjectType<F, Out, In> {
  const known = Object.entries(fields).map(([key, type]) => ({ key, run: type.run, canMiss: type.optional === "both" }));
  const names = new Set(Object.keys(fields));
  const run: Run = (value, issues) => {
    if (!isJsonObject(value)) {
      issues.push(expected("an object", value));
      return value;
    }
    const read: Record<string, unknown> = {};
    for (const { key, run, canMiss } of known) {
      if (!canMiss || key in value) read[key] = runAt(run, key, value[key], issues);
    }
    if (others === "drop") return read;
    for (const key in value) {
      if (names.has(key)) continue;
      if (others === "refuse") issues.push({ type: "unknown-field", path: [key], known: [...names] });
      else if (key !== "__proto__") read[key] = runAt(others.run, key, value[key], issues);
    }
    return read;
  };
  const json: Type["json"] = (definitions) => ({
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([key, type]) => [key, type.json(definitions)])),
    required: Object.keys(fields).filter((key) => fields[key]?.optional === "no"),
    ...(others === "drop" ? {} : { additionalProperties: others === "refuse" ? false : others.json(definitions) }),
  });
  return { ...define<Out, In>(run, json, fitsObject(fields, others)), fields };
}

/** Fields that are not named are dropped. */
/* @__NO_SIDE_EFFECTS__ */
export const object = <F extends Fields>(fields: F): ObjectType<F> => objectOf(fields, "drop");
/** Fields that are not named are refused. */
/* @__NO_SIDE_EFFECTS__ */
export const strictObject = <F extends Fields>(fields: F): ObjectType<F> => objectOf(fields, "refuse");
/** As `strictObject`; each field may be left out. */
/* @__NO_SIDE_EFFECTS__ */
export const partialObject = <F extends Fields>(fields: F): Type<PartOf<OutputOf<F>>, PartOf<InputOf<F>>> =>
  objectOf(Object.fromEntries(Object.entries(fields).map(([key, type]) => [key, optional(type)])), "refuse");
/** Fields that are not named are all of one type. */
/* @__NO_SIDE_EFFECTS__ */
export const openObject = <F extends Fields, T>(
  fields: F,
  others: Type<T, T>,
): Type<OutputOf<F> & Record<string, T>, InputOf<F> & Record<string, T>> => objectOf(fields, others);

/* @__NO_SIDE_EFFECTS__ */
export function array<Out, In>(item: Type<Out, In>): Type<Out[], In[]> {
  const run: Run = (value, issues) => {
    if (Array.isArray(value)) return Array.from(value, (part: unknown, index) => runAt(item.run, index, part, issues));
    issues.push(expected("an array", value));
    return value;
  };
  const fits: Fits = (value, depth) => {
    if (!isPlainList(value)) return false;
    for (let index = 0; index < value.length; index++) if (!item.fits(value[index], depth + 1)) return false;
    return true;
  };
  return define(run, (definitions) => ({ type: "array", items: item.json(definitions) }), fits);
}

/** Any names. `__proto__` is none: it is dropped. */
/* @__NO_SIDE_EFFECTS__ */
export function record<Out, In>(item: Type<Out, In>): Type<Record<string, Out>, Record<string, In>> {
  const run: Run = (value, issues) => {
    if (!isPlainObject(value)) {
      issues.push(expected("an object", value));
      return value;
    }
    const read: Record<string, unknown> = {};
    for (const key in value) if (key !== "__proto__") read[key] = runAt(item.run, key, value[key], issues);
    return read;
  };
  return define(run, (definitions) => ({ type: "object", additionalProperties: item.json(definitions) }), fitsObject({}, item));
}

/** The first that fits. */
/* @__NO_SIDE_EFFECTS__ */
export function union<const T extends readonly Type[]>(types: T): Type<output<T[number]>, input<T[number]>> {
  const run: Run = (value, issues) => {
    const branches: Issue[][] = [];
    for (const type of types) {
      const own: Issue[] = [];
      const read = type.run(value, own);
      if (own.length === 0) return read;
      branches.push(own);
    }
    issues.push(...nearest(branches, value));
    return value;
  };
  const fits: Fits = (value, depth) => {
    for (const type of types) {
      if (type.fits(value, depth)) return true;
      const issues: Issue[] = [];
      type.run(value, issues);
      if (issues.length === 0) return false;
    }
    return false;
  };
  return define(run, (definitions) => ({ anyOf: types.map((type) => type.json(definitions)) }), fits);
}

/** An object whose field `tag` says which of the branches it is. */
/* @__NO_SIDE_EFFECTS__ */
export function taggedUnion<
  Tag extends string,
  const T extends readonly (Type & { readonly fields: { readonly [Key in Tag]: Choice<string> } })[],
>(tag: Tag, types: T): Type<output<T[number]>, input<T[number]>> {
  const byTag = new Map<unknown, Type>(types.flatMap((type) => type.fields[tag].values.map((value) => [value, type] as const)));
  const run: Run = (value, issues) => {
    if (!isJsonObject(value)) {
      issues.push(expected("an object", value));
      return value;
    }
    const found: unknown = value[tag];
    const type = byTag.get(found);
    if (type !== undefined) return type.run(value, issues);
    const names = types.flatMap((branch) => branch.fields[tag].values);
    issues.push(problem(`must be ${oneOf(names)}, got ${typeof found === "string" ? quote(found) : describeType(found)}`, [tag]));
    return value;
  };
  // The next value is mostly of the branch of the one before it.
  let last: { readonly tag: unknown; readonly type: Type } | undefined;
  const fits: Fits = (value, depth) => {
    if (!isJsonObject(value)) return false;
    const found = value[tag];
    if (last === undefined || last.tag !== found) {
      const type = byTag.get(found);
      if (type === undefined) return false;
      last = { tag: found, type };
    }
    return last.type.fits(value, depth);
  };
  return define(run, (definitions) => ({ oneOf: types.map((type) => type.json(definitions)) }), fits);
}

/** Any JSON; what is none is told by where it lies. */
/* @__NO_SIDE_EFFECTS__ */
export function json(): Type<JsonValue> {
  const type: Type<JsonValue> = define(
    (value, issues) => (isJson(value) ? value : parts().run(value, issues)),
    () => ({}),
    isJson,
  );
  const parts = () => union([string(), number(), boolean(), array(type), record(type)]);
  return type;
}
