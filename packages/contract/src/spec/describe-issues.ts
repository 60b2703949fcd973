import type * as z from "zod";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** The message of issues whose schema has no message of its own; those are put into words here. */
export const NO_MESSAGE = "\u0000";

/** An issue whose text follows the name of the field: `problem("cannot be blue")` gives `field 'sky' cannot be blue`. */
export const problem = (text: string): { code: "custom"; params: { problem: string } } => ({ code: "custom", params: { problem: text } });

const MAX_PROBLEMS = 5;
const MAX_TEXT = 80;

export const NON_BLANK = /\S/;

export const shorten = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
const quote = (text: PropertyKey): string => `'${shorten(String(text))}'`;
const field = (path: Path): string => (path.length === 0 ? "the spec" : `field ${quote(path.map(String).join("."))}`);

/** Says what kind of value it is. The value itself stays out of messages: it may be a secret in the wrong place. */
export function describeType(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a finite number",
  int: "an integer",
  boolean: "true or false",
  null: "null",
  array: "an array",
  object: "an object",
  record: "an object",
};

const oneOf = (values: readonly unknown[]): string => {
  const [first, ...others] = values.map((value) => quote(String(value)));
  return first !== undefined && others.length === 0 ? first : `one of ${[first, ...others].join(", ")}`;
};

/** What the schema wanted instead of the whole value, or undefined if the value as such was fine. */
function expectation(issue: Issue): string | undefined {
  if (issue.code === "invalid_type") return EXPECTED[issue.expected] ?? `a value of type ${issue.expected}`;
  if (issue.code === "invalid_value") return oneOf(issue.values);
  return undefined;
}

/** Shows what is no secret: a name that is not in a list, a number that is not an integer. */
function describeGot(issue: Issue): string {
  if (issue.code === "invalid_value" && typeof issue.input === "string") return quote(issue.input);
  return issue.code === "invalid_type" && issue.expected === "int" ? String(issue.input) : describeType(issue.input);
}

function describeBound(issue: Extract<Issue, { code: "too_small" | "too_big" }>): string {
  const isSize = issue.origin === "string" || issue.origin === "array";
  const unit = isSize ? ` ${issue.origin === "string" ? "characters" : "entries"}` : "";
  const verb = isSize ? "must have" : "must be";
  const got = typeof issue.input === "number" ? `, got ${issue.input}` : "";
  if (issue.code === "too_big") return `${verb} ${issue.inclusive ? "at most" : "less than"} ${issue.maximum}${unit}${got}`;
  if (issue.minimum === 0 && !issue.inclusive) return "must be greater than zero";
  return `${verb} ${issue.inclusive ? "at least" : "more than"} ${issue.minimum}${unit}${got}`;
}

function describeValue(issue: Issue): string {
  const expected = expectation(issue);
  if (expected !== undefined) {
    if (issue.input === undefined) return `is required: expected ${expected}`;
    return `must be ${expected}, got ${describeGot(issue)}`;
  }
  if (issue.code === "too_small" || issue.code === "too_big") return describeBound(issue);
  if (issue.code === "invalid_format" && issue.pattern === String(NON_BLANK)) return "cannot be empty";
  const { problem: own }: { problem?: unknown } = (issue.code === "custom" && issue.params) || {};
  return typeof own === "string" ? own : "is not valid";
}

/** How little a branch of a union fits: another kind of value weighs most, then a field that is missing. */
function misfit(branch: readonly Issue[]): number {
  const weigh = (issue: Issue): number => {
    if (expectation(issue) === undefined) return 0;
    return issue.path.length === 0 ? 1000 : issue.input === undefined ? 1 : 0;
  };
  return branch.reduce((sum, issue) => sum + weigh(issue), 0);
}

function describeUnion(issue: Extract<Issue, { code: "invalid_union" }>, path: Path): string[] {
  if (issue.discriminator !== undefined) {
    const tag: unknown = Object.entries(issue.input ?? {}).find(([key]) => key === issue.discriminator)?.[1];
    const options = "options" in issue && Array.isArray(issue.options) ? issue.options : [];
    const got = typeof tag === "string" ? quote(tag) : describeType(tag);
    return [`${field(path)} must be ${oneOf(options)}, got ${got}`];
  }
  const [best] = [...issue.errors].sort((left, right) => misfit(left) - misfit(right));
  if (best !== undefined && misfit(best) < 1000) return best.flatMap((inner) => describe(inner, path));
  const misfits = issue.errors.flatMap((branch) => branch.slice(0, 1));
  const expected = new Set(misfits.map((inner) => expectation(inner) ?? "a valid value"));
  const named = misfits.find((inner) => inner.code === "invalid_value");
  if (issue.input === undefined) return [`${field(path)} is required: expected ${[...expected].join(" or ")}`];
  return [`${field(path)} must be ${[...expected].join(" or ")}, got ${named ? describeGot(named) : describeType(issue.input)}`];
}

function describe(issue: Issue, parent: Path): string[] {
  if (issue.message !== NO_MESSAGE) return [issue.message];
  const path = [...parent, ...issue.path];
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => `unknown field ${quote([...path, key].map(String).join("."))}`);
  if (issue.code === "invalid_union") return describeUnion(issue, path);
  return [`${field(path)} ${describeValue(issue)}`];
}

/** Every problem in a sentence of its own, at most five of them. */
export function describeIssues(issues: readonly Issue[]): string {
  const problems = issues.flatMap((issue) => describe(issue, []));
  const more = problems.length - MAX_PROBLEMS;
  return problems.slice(0, MAX_PROBLEMS).join("; ") + (more > 0 ? `; and ${more} more` : "");
}
