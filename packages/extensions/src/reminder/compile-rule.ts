import { AwakenError, type JsonValue, type ToolResult } from "@awaken/contract";
import { compileCondition, compileToolCallPattern } from "../pattern/compile-tool-call.ts";
import { parseFieldPath } from "../pattern/parse-tool-call.ts";
import { parsing } from "../pattern/pattern-error.ts";
import { compileValueGlob } from "../pattern/value-glob.ts";
import { valueText } from "../pattern/value-text.ts";
import type { ReminderRule } from "./section.ts";

/** A rule that is ready to be compared with results. */
export interface CompiledRule {
  readonly name: string;
  readonly message: ReminderRule["message"];
  matches(toolId: string, input: JsonValue, result: ToolResult): boolean;
}

type Test = (result: ToolResult) => boolean;

/** Null for what has no data. */
const dataOf = (result: ToolResult): JsonValue => (result.type === "pending" ? null : (result.data ?? null));

/** What a text condition is compared with: of an error its message comes first. */
const textsOf = (result: ToolResult): readonly string[] => {
  const data = valueText(dataOf(result));
  return result.type === "error" ? [result.message, data] : [data];
};

function compileContent(content: Exclude<ReminderRule["output"], "any">["content"]): Test {
  if (content === undefined) return () => true;
  if (typeof content === "string") {
    const glob = compileValueGlob(content);
    return (result) => textsOf(result).some(glob);
  }
  const conditions = content.fields.map(({ path, op, value }) =>
    parsing(value, () => compileCondition({ path: parseFieldPath(path), op, value })),
  );
  return (result) => conditions.every((holds) => holds(dataOf(result)));
}

function compileOutput(output: ReminderRule["output"]): Test {
  if (output === "any") return () => true;
  const { status } = output;
  const hasContent = compileContent(output.content);
  return (result) => (status === "any" || result.type === status) && hasContent(result);
}

function compileRule(rule: ReminderRule, index: number): CompiledRule {
  const name = rule.name ?? `rule-${index}-${rule.tool}`;
  try {
    const matcher = compileToolCallPattern(rule.tool);
    const fits = compileOutput(rule.output);
    return { name, message: rule.message, matches: (toolId, input, result) => matcher.matches(toolId, input) && fits(result) };
  } catch (cause) {
    if (!AwakenError.is(cause)) throw cause;
    throw new AwakenError("invalid_plugin_config", `invalid config for plugin reminder: rule ${index} '${name}' — ${cause.message}`, {
      details: { plugin: "reminder", key: "reminder", rule: index, name, ...cause.details },
      cause,
    });
  }
}

/** Throws with the index of a rule that cannot be read, and for two of one name: their messages would take each other's place. */
export function compileRules(rules: readonly ReminderRule[]): readonly CompiledRule[] {
  const names = new Set<string>();
  return rules.map((rule, index) => {
    const compiled = compileRule(rule, index);
    if (names.has(compiled.name)) {
      throw new AwakenError("invalid_plugin_config", `invalid config for plugin reminder: two rules are called '${compiled.name}'`, {
        details: { plugin: "reminder", key: "reminder", rule: index, name: compiled.name },
      });
    }
    names.add(compiled.name);
    return compiled;
  });
}
