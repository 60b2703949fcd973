import { didYouMean } from "../nearest-name.ts";

/** What is wrong with a value, and where in it. */
export type Issue = { readonly path: PropertyKey[] } & (
  | { readonly type: "expected"; readonly expected: string; readonly got: string }
  /** The rest of a sentence about the field: `must be greater than zero`. */
  | { readonly type: "problem"; readonly text: string }
  /** A sentence of its own. */
  | { readonly type: "message"; readonly text: string }
  | { readonly type: "unknown-field"; readonly known: readonly string[] }
);

const MAX_TEXT = 80;
const MISSING = "nothing";

export const shorten = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text);
export const quote = (text: PropertyKey): string => `'${shorten(String(text))}'`;

/** Of a proxy that was revoked nothing can be asked. */
function isList(value: object): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** Says what kind of value it is. The value itself stays out of messages: it may be a secret in the wrong place. */
export function describeType(value: unknown): string {
  if (value === undefined) return MISSING;
  if (value === null) return "null";
  if (typeof value === "object" && isList(value)) return "an array";
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export function oneOf(values: readonly PropertyKey[]): string {
  const [first, ...others] = values.map(quote);
  return first !== undefined && others.length === 0 ? first : `one of ${[first, ...others].join(", ")}`;
}

export const expected = (wanted: string, value: unknown, got = describeType(value)): Issue => ({
  type: "expected",
  path: [],
  expected: wanted,
  got,
});
export const problem = (text: string, path: readonly PropertyKey[] = []): Issue => ({ type: "problem", path: [...path], text });
export const message = (text: string): Issue => ({ type: "message", path: [], text });

/** What comes after the name of the field. */
export function describeIssue(issue: Issue): string {
  switch (issue.type) {
    case "expected":
      return issue.got === MISSING ? `is required: expected ${issue.expected}` : `must be ${issue.expected}, got ${issue.got}`;
    case "unknown-field":
      return `is an unknown field${didYouMean(String(issue.path.at(-1)), issue.known)}`;
    default:
      return issue.text;
  }
}

const OTHER_KIND = 1000;

/** How little a branch of a union fits: another kind of value weighs most, then a field that is missing. */
function misfit(branch: readonly Issue[]): number {
  const weigh = (issue: Issue): number => {
    if (issue.type !== "expected") return 0;
    return issue.path.length === 0 ? OTHER_KIND : issue.got === MISSING ? 1 : 0;
  };
  return branch.reduce((sum, issue) => sum + weigh(issue), 0);
}

/** What is wrong with a value that fits no branch: the issues of the nearest one, or all that would have been taken. */
export function nearest(branches: readonly (readonly Issue[])[], value: unknown): readonly Issue[] {
  const [best] = branches.toSorted((left, right) => misfit(left) - misfit(right));
  if (best !== undefined && misfit(best) < OTHER_KIND) return best;
  const wanted = new Set<string>();
  let got = describeType(value);
  for (const [head] of branches) {
    wanted.add(head?.type === "expected" ? head.expected : "a valid value");
    if (head?.type === "expected" && head.got.startsWith("'")) got = head.got;
  }
  return [expected([...wanted].join(" or "), value, got)];
}
