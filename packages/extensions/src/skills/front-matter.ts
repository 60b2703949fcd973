import { errorMessage, isJsonObject, type JsonObject, type JsonValue, toJson } from "@awaken/contract";
import { parse, YAMLParseError } from "yaml";
import { SkillError } from "./skill-error.ts";

const invalid = (message: string): never => {
  throw new SkillError("invalid_skill_md", message);
};

interface Parts {
  readonly head: JsonObject;
  readonly body: string;
}

const KEY_AND_TEXT = /^([A-Za-z][\w-]*):[ \t]+(\S.*)$/;
const NEEDS_QUOTES = /: |^[[{@`%!&*|>"']| #/;

/** Many write a colon into a description without quotes, which YAML refuses: such a line is read as the text that it looks like. */
const quoted = (text: string): string =>
  text
    .split("\n")
    .map((line) => {
      const [, key, value] = KEY_AND_TEXT.exec(line) ?? [];
      return key !== undefined && value !== undefined && NEEDS_QUOTES.test(value) ? `${key}: ${JSON.stringify(value.trim())}` : line;
    })
    .join("\n");

function parseYaml(text: string): unknown {
  const options = { maxAliasCount: 20, logLevel: "error" } as const;
  try {
    return parse(text, options);
  } catch (strict) {
    try {
      if (strict instanceof YAMLParseError) return parse(quoted(text), options);
    } catch {
      // What was wrong before is the better word for it.
    }
    return invalid(`its front matter is no YAML: ${errorMessage(strict).split("\n")[0]}`);
  }
}

/** The front matter and the Markdown behind it. */
export function splitSkill(text: string): Parts {
  const lines = text
    .replace(/^\uFEFF/, "")
    .replaceAll("\r\n", "\n")
    .split("\n");
  if (lines[0]?.trimEnd() !== "---") invalid("it does not begin with '---'");
  const end = lines.findIndex((line, index) => index > 0 && line.trimEnd() === "---");
  if (end < 0) invalid("its front matter does not end with '---'");
  const head = toJson(parseYaml(lines.slice(1, end).join("\n")));
  if (!isJsonObject(head)) return invalid("its front matter is no list of keys");
  return {
    head,
    body: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

/** What is text to a person: also a number, a date, or a list in brackets. */
function asText(value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  if (isJsonObject(value)) return invalid(`'${Object.keys(value)[0]}' stands where text is expected`);
  return Array.isArray(value) ? `[${value.map(String).join(", ")}]` : String(value);
}

const NAME = /^[\p{Ll}\p{Lo}\p{N}]+(-[\p{Ll}\p{Lo}\p{N}]+)*$/u;
const MAX_NAME = 64;
const MAX_DESCRIPTION = 1_024;
const MAX_COMPATIBILITY = 500;

/** Tools are separated by spaces or commas, or come as a list; parentheses and quotes keep together what is in them. */
export function toolTokens(value: JsonValue | undefined): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item: JsonValue) => (typeof item === "string" ? [item.trim()] : [])).filter(Boolean);
  if (typeof value !== "string") return [];
  const tokens: string[] = [];
  let token = "";
  let depth = 0;
  let isQuoted = false;
  for (const character of value) {
    if (character === '"') isQuoted = !isQuoted;
    if (!isQuoted && character === "(") depth += 1;
    if (!isQuoted && character === ")") depth -= 1;
    if (depth === 0 && !isQuoted && /[\s,]/.test(character)) {
      if (token !== "") tokens.push(token);
      token = "";
    } else token += character;
  }
  return token === "" ? tokens : [...tokens, token];
}

export interface SkillHead {
  readonly name: string;
  readonly description: string;
  readonly whenToUse: string | undefined;
  readonly allowedTools: readonly string[];
  readonly arguments: readonly { readonly name: string; readonly description?: string; readonly required: boolean }[] | undefined;
  readonly modelInvocable: boolean;
}

function readArguments(value: JsonValue | undefined): SkillHead["arguments"] {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) return invalid("'arguments' must be a list");
  return value.map((item: JsonValue) => {
    if (typeof item === "string") return { name: item, required: false };
    const { name, description, required } = isJsonObject(item) ? item : {};
    if (typeof name !== "string" || name === "") return invalid("an argument needs a name");
    return { name, required: required === true, ...(typeof description === "string" ? { description } : {}) };
  });
}

/** The keys that mean something here; others are left to whoever wrote them. */
export function readHead(head: JsonObject): SkillHead {
  const name = asText(head["name"])?.normalize("NFKC") ?? invalid("'name' is required");
  if (name.length > MAX_NAME || !NAME.test(name)) {
    invalid(`'name' is '${name}': at most ${MAX_NAME} lower-case letters, digits and single dashes between them`);
  }
  const description = asText(head["description"])?.trim() ?? "";
  if (description === "") invalid("'description' is required");
  if (description.length > MAX_DESCRIPTION) invalid(`'description' is longer than ${MAX_DESCRIPTION} characters`);
  if ((asText(head["compatibility"])?.length ?? 0) > MAX_COMPATIBILITY)
    invalid(`'compatibility' is longer than ${MAX_COMPATIBILITY} characters`);
  return {
    name,
    description,
    whenToUse: asText(head["when-to-use"] ?? head["when_to_use"])?.trim(),
    allowedTools: toolTokens(head["allowed-tools"]),
    arguments: readArguments(head["arguments"]),
    modelInvocable: head["disable-model-invocation"] !== true,
  };
}
