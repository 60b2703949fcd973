import { message } from "./issue.ts";
import { type Defaulted, define, type Fits, isFit, isSound, type Optional, type Run, type Type } from "./type.ts";

/** A field that may be left out, and is not undefined when it is there. */
/* @__NO_SIDE_EFFECTS__ */
export const exactOptional = <Out, In>(type: Type<Out, In>): Optional<Out, In> => ({ ...type, optional: "both" });

/** A field that may be left out or be undefined. */
/* @__NO_SIDE_EFFECTS__ */
export const optional = <Out, In>(type: Type<Out, In>): Optional<Out | undefined, In | undefined> => ({
  ...define<Out | undefined, In | undefined>(
    (value, issues) => (value === undefined ? value : type.run(value, issues)),
    type.json,
    type.fits,
  ),
  optional: "both",
});

/* @__NO_SIDE_EFFECTS__ */
export function nullable<Out, In>(type: Type<Out, In>): Type<Out | null, In | null> {
  const json: Type["json"] = (definitions) => {
    const inner = type.json(definitions);
    const { type: name, ...rest } = inner;
    const isBare = typeof name === "string" && Object.keys(rest).length === 0;
    return isBare ? { type: [name, "null"] } : { anyOf: [inner, { type: "null" }] };
  };
  return define(
    (value, issues) => (value === null ? value : type.run(value, issues)),
    json,
    (value, depth) => value === null || type.fits(value, depth),
  );
}

/** What is read when nothing was given. */
/* @__NO_SIDE_EFFECTS__ */
export function withDefault<Out, In>(type: Type<Out, In>, fallback: NoInfer<In>): Defaulted<Out, In | undefined> {
  const run: Run = (value, issues) => type.run(value === undefined ? fallback : value, issues);
  const json: Type["json"] = (definitions) => Object.assign({}, type.json(definitions), { default: fallback });
  return { ...define<Out, In | undefined>(run, json, type.fits), optional: "input" };
}

/** For the compiler alone. */
/* @__NO_SIDE_EFFECTS__ */
export const readonly = <Out, In>(type: Type<Out, In>): Type<Readonly<Out>, Readonly<In>> => define(type.run, type.json, type.fits);

/* @__NO_SIDE_EFFECTS__ */
export function transform<Out, In, Next>(type: Type<Out, In>, change: (value: Out) => Next): Type<Next, In> {
  const run: Run = (value, issues) => {
    const before = issues.length;
    const read = type.run(value, issues);
    return isSound<Out>(read, issues, before) ? change(read) : read;
  };
  return define(run, type.json);
}

/** What comes out of the first is given to the second. */
/* @__NO_SIDE_EFFECTS__ */
export function pipe<Out, In, Next>(first: Type<Out, In>, second: Type<Next, Out>): Type<Next, In> {
  const run: Run = (value, issues) => {
    const before = issues.length;
    const read = first.run(value, issues);
    return issues.length === before ? second.run(read, issues) : read;
  };
  return define(run, first.json, (value, depth) => first.fits(value, depth) && second.fits(value, depth));
}

/** Only those that the guard lets through. */
/* @__NO_SIDE_EFFECTS__ */
export function narrow<Out, In, Narrow extends Out>(
  type: Type<Out, In>,
  guard: (value: Out) => value is Narrow,
  otherwise: string,
): Type<Narrow, In> {
  const run: Run = (value, issues) => {
    const before = issues.length;
    const read = type.run(value, issues);
    if (isSound<Out>(read, issues, before) && !guard(read)) issues.push(message(otherwise));
    return read;
  };
  const fits: Fits = (value, depth) => isFit<Out>(value, type.fits(value, depth)) && guard(value);
  return define(run, type.json, fits);
}

/** A type that documents of many schemas write once, under this name. */
/* @__NO_SIDE_EFFECTS__ */
export const named = <Out, In>(name: string, type: Type<Out, In>): Type<Out, In> => ({
  ...define<Out, In>(
    type.run,
    (definitions) => (definitions === undefined ? type.json() : definitions(name, () => type.json(definitions))),
    type.fits,
  ),
  optional: type.optional,
});

const FROM_TEXT: Readonly<Record<string, (text: string) => unknown>> = {
  integer: (text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text),
  number: (text) => (text.trim() === "" ? text : Number(text)),
  boolean: (text) => (text === "true" ? true : text === "false" ? false : text),
};

/** A number, or true or false, as a query string spells it. What does not spell one is refused by the type itself. */
/* @__NO_SIDE_EFFECTS__ */
export function fromText<Out, In>(type: Type<Out, In>): Type<Out, In | string> {
  const kind = type.json()["type"];
  const read = typeof kind === "string" ? FROM_TEXT[kind] : undefined;
  return define((value, issues) => type.run(typeof value === "string" && read !== undefined ? read(value) : value, issues), type.json);
}
