import { isJsonObject, type JsonObject } from "../json.ts";
import { shorten } from "../schema/issue.ts";
import { Secret } from "../secret.ts";

/** Deeper data has no use in a spec and would overflow whoever walks it. */
export const MAX_DEPTH = 64;

/** Told what is wrong and where; must throw. */
export type Refuse = (problem: string) => never;

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
};

/**
 * A copy made of plain objects and arrays only, so that nobody can change a spec from outside. Members that are `undefined`
 * are left out, as JSON does; secrets become the text that they hold. Leaves are not checked: the schema does that.
 */
export function copyPlain(value: unknown, refuse: Refuse, path: readonly string[] = []): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Secret.is(value)) return value.reveal();
  const place = path.length === 0 ? "the spec" : `field '${shorten(path.join("."))}'`;
  if (path.length > MAX_DEPTH) return refuse(`${place} is nested deeper than ${MAX_DEPTH} levels`);
  if (Array.isArray(value)) return Array.from(value, (item: unknown, index) => copyPlain(item, refuse, [...path, String(index)]));
  if (!isPlain(value)) return refuse(`${place} must be plain JSON, got an instance of ${value.constructor?.name ?? "a class"}`);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  if (members.some(([key]) => key === "__proto__")) return refuse(`${place} must not have a member '__proto__'`);
  return Object.fromEntries(members.map(([key, member]) => [key, copyPlain(member, refuse, [...path, key])]));
}

/** The stored form of a spec. Secrets are in it as plain text. */
export function encodePlain(spec: object): JsonObject {
  const json: unknown = JSON.parse(JSON.stringify(spec));
  return isJsonObject(json) ? json : {};
}
