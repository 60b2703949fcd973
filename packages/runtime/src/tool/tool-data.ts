import { isJson, isPlainList, isPlainObject, type JsonValue, toJson } from "@awaken/contract";

const nameOf = (value: object): string => {
  const maker: unknown = Object.getPrototypeOf(value)?.constructor;
  return typeof maker === "function" && maker.name !== "" ? `a ${maker.name}` : "an object of no known kind";
};

const speaks = (value: object): boolean => "toJSON" in value && typeof value.toJSON === "function";

/** What in the value JSON would lose without a word, and where. What has a `toJSON`, as a Date has, says itself what is left of it. */
function lostIn(value: unknown, path: string, above: readonly object[]): string | undefined {
  const at = path === "" ? "" : ` at '${path}'`;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${value}${at}`;
  if (typeof value === "bigint" || typeof value === "function" || typeof value === "symbol") return `a ${typeof value}${at}`;
  if (typeof value !== "object" || value === null || speaks(value)) return undefined;
  if (above.includes(value)) return `a value that holds itself${at}`;
  if (!isPlainList(value) && !isPlainObject(value)) return `${nameOf(value)}${at}`;
  for (const [key, item] of Object.entries(value)) {
    const lost = lostIn(item, path === "" ? key : `${path}.${key}`, [...above, value]);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** What was returned, as JSON. Throws, naming who returned it, when JSON would lose some of it: a model must not read `{}` for a Map. */
export function wholeJson(giver: string, returned: unknown): JsonValue {
  if (isJson(returned)) return returned;
  const lost = lostIn(returned, "", []);
  if (lost !== undefined) throw new TypeError(`${giver} returned what is no JSON: ${lost}`);
  const json = toJson(returned);
  // It could be written, but not read again.
  if (!isJson(json)) throw new TypeError(`${giver} returned a value that is nested too deeply`);
  return json;
}

/** As `wholeJson`, for what a tool's code gave. */
export const toolData = (tool: string, returned: unknown): JsonValue => wholeJson(`tool '${tool}'`, returned);
