import { isJson, type JsonObject, type JsonValue } from "../json.ts";
import { perObject } from "../per-object.ts";
import type { Validated } from "../schema.ts";
import { Evaluation } from "./evaluation.ts";
import { type Evaluator, Unusable } from "./evaluator.ts";
import { matches } from "./match.ts";
import { compilePattern } from "./pattern.ts";
import { References } from "./references.ts";

const MAX_ISSUES = 5;

interface Compiled {
  readonly references: References;
  readonly patterns: Evaluator["patterns"];
}

const compiled = perObject((schema: JsonObject): Compiled => ({ references: new References(schema), patterns: new Map() }));

function problemsOf(schema: JsonObject, value: JsonValue): readonly string[] {
  try {
    const { references, patterns } = compiled(schema);
    return new Evaluation(schema, value, references, patterns).run(schema);
  } catch (thrown) {
    if (thrown instanceof Unusable) return [thrown.message];
    // Little was left of the stack when it was called.
    if (thrown instanceof RangeError) return ["the schema and the value nest too deeply to be checked"];
    throw thrown;
  }
}

/**
 * Checks a value against a JSON Schema: draft 2020-12, and what drafts 4 to 7, 2019-09 and OpenAPI 3.0 say otherwise. Whoever wrote the
 * schema, it comes to an end: patterns are matched in linear time, and steps and depth have a limit. `format` and the content keywords
 * are notes, as the standard has it; nothing is fetched, so a `$ref` has to lead into the schema itself.
 */
export function checkJson(schema: JsonObject, value: unknown): Validated<JsonValue> {
  if (!isJson(value)) return { type: "invalid", message: "it is not JSON" };
  const problems = problemsOf(schema, value);
  if (problems.length === 0) return { type: "valid", value };
  const more = problems.length > MAX_ISSUES ? `; and ${problems.length - MAX_ISSUES} more` : "";
  return { type: "invalid", message: `${problems.slice(0, MAX_ISSUES).join("; ")}${more}` };
}

/**
 * A regular expression as a search in linear time, whoever wrote it. Undefined for what is none, `unsupported` for what cannot be matched so.
 * The search throws when it takes more than `maxSteps`: then nobody knows whether it matches.
 */
export function compileLinear(source: string, maxSteps: number): ((text: string) => boolean) | "unsupported" | undefined {
  const pattern = compilePattern(source);
  if (pattern === undefined || pattern === "unsupported") return pattern;
  return (text) => matches(pattern, text, { left: maxSteps });
}
