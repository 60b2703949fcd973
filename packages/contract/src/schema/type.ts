import type { JsonObject } from "../json.ts";
import { describeIssue, type Issue } from "./issue.ts";

/** Gives back what was read. What is wrong is added to the issues, and then the value means nothing. */
export type Run = (value: unknown, issues: Issue[]) => unknown;

/**
 * True when `run` would give the value back unchanged, and it is JSON. Makes nothing and explains nothing: for what is written and read
 * all the time. `depth` is how far the value lies inside its record.
 */
export type Fits = (value: unknown, depth: number) => boolean;

/** Where schemas that have a name are written once, for whoever gathers them: gives the reference that stands in their place. */
export type Definitions = (name: string, json: () => JsonObject) => JsonObject;

/** A rule over a value that has the right type already. Gives the value back, or another one of its type. */
export interface Check<T> {
  run(value: T, issues: Issue[]): T;
  /** Whether `run` has nothing to say and nothing to change. */
  holds(value: T): boolean;
  readonly json: JsonObject;
}

interface StandardIssue {
  readonly message: string;
  readonly path: readonly PropertyKey[];
}

/**
 * A schema of ours: what reads `In` into `Out`. A Standard Schema, like those that users bring. Specs and stored records are made of
 * these, so that whoever loads the core loads no schema library.
 */
export interface Type<Out = unknown, In = Out> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (
      value: unknown,
    ) => { readonly value: Out; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };
    readonly jsonSchema: { readonly input: () => JsonObject };
    readonly types?: { readonly input: In; readonly output: Out };
  };
  /** Whether the field may be left out, of what is given and of what comes out. */
  readonly optional: "no" | "input" | "both";
  readonly run: Run;
  readonly fits: Fits;
  /** JSON Schema of what may be given. With definitions, types that have a name are references to them. */
  readonly json: (definitions?: Definitions) => JsonObject;
  /** With more rules. All of them are asked, so that all that is wrong is told at once. */
  check(...checks: readonly Check<Out>[]): Type<Out, In>;
}

export type output<S extends Type> = NonNullable<S["~standard"]["types"]>["output"];
export type input<S extends Type> = NonNullable<S["~standard"]["types"]>["input"];

/** Whether nothing went wrong since there were `before` issues. */
export const isSound = <T>(_value: unknown, issues: readonly Issue[], before = 0): _value is T => issues.length === before;

/** `answer` is what `fits` of a type of `T` says. */
export const isFit = <T>(_value: unknown, answer: boolean): _value is T => answer;

/** Without `fits` every value is read. */
/* @__NO_SIDE_EFFECTS__ */
export function define<Out, In = Out>(run: Run, json: Type["json"], fits: Fits = () => false): Type<Out, In> {
  return {
    "~standard": {
      version: 1,
      vendor: "awaken",
      validate(given) {
        const issues: Issue[] = [];
        const value = run(given, issues);
        if (isSound<Out>(value, issues)) return { value };
        return { issues: issues.map((issue) => ({ message: describeIssue(issue), path: issue.path })) };
      },
      jsonSchema: { input: () => json() },
    },
    optional: "no",
    run,
    fits,
    json,
    check(...checks) {
      const runAll: Run = (given, issues) => {
        const before = issues.length;
        const value = run(given, issues);
        return isSound<Out>(value, issues, before) ? checks.reduce((read, check) => check.run(read, issues), value) : value;
      };
      const fitsAll: Fits = (value, depth) => {
        if (!isFit<Out>(value, fits(value, depth))) return false;
        for (let index = 0; index < checks.length; index++) if (checks[index]?.holds(value) === false) return false;
        return true;
      };
      const jsonOfAll: Type["json"] = (definitions) => Object.assign({}, json(definitions), ...checks.map((check) => check.json));
      return define(runAll, jsonOfAll, fitsAll);
    },
  };
}

/** `fits` as a guard. */
/* @__NO_SIDE_EFFECTS__ */
export const guardOf =
  <T>(type: Type<T, unknown>) =>
  (value: unknown, depth: number): value is T =>
    type.fits(value, depth);

/** Left out, or there. */
export interface Optional<Out, In> extends Type<Out, In> {
  readonly optional: "both";
}

/** Always there once it was read. */
export interface Defaulted<Out, In> extends Type<Out, In> {
  readonly optional: "input";
}
