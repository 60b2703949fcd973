import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import { SkillError } from "./skill-error.ts";
import type { SkillArgument } from "./types.ts";

const refuse = (message: string): never => {
  throw new SkillError("invalid_arguments", message);
};

function scalar(name: string, value: JsonValue): string {
  if (value === null) return "";
  if (typeof value === "object") return refuse(`argument '${name}' must be text, a number or a boolean`);
  return String(value);
}

function checkDeclared(declared: readonly SkillArgument[], given: JsonObject): void {
  const names = declared.map(({ name }) => name);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) refuse(`argument '${unknown}' is not declared; there are: ${names.join(", ")}`);
  const missing = declared.find(({ name, required }) => required && (given[name] ?? null) === null);
  if (missing !== undefined) refuse(`argument '${missing.name}' is required`);
}

const PLACE = /\$\{([A-Za-z_][\w-]*)\}/g;
/** Where other tools put what was typed behind the name of a skill. */
const WHOLE = /\$ARGUMENTS\b/g;

/** Puts the arguments into the text, in the places that name them. */
export function substitute(text: string, declared: readonly SkillArgument[] | undefined, args: JsonValue | undefined): string {
  if (typeof args === "string" && declared === undefined) return text.replaceAll(WHOLE, () => args);
  const given = args ?? {};
  if (!isJsonObject(given)) return refuse("the arguments must be an object");
  if (declared !== undefined) checkDeclared(declared, given);
  const values = new Map(Object.entries(given).map(([name, value]) => [name, scalar(name, value)]));
  for (const { name } of declared ?? []) if (!values.has(name)) values.set(name, "");
  return text.replaceAll(PLACE, (place, name: string) => values.get(name) ?? place);
}
