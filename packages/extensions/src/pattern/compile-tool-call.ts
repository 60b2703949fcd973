import { isJsonObject, type JsonValue } from "@awaken/contract";
import { valuesAt } from "./field-path.ts";
import { parseToolCallPattern } from "./parse-tool-call.ts";
import { parsing } from "./pattern-error.ts";
import { readRegex } from "./regex.ts";
import {
  type ArgsPart,
  type FieldCondition,
  type Operator,
  patternKey,
  printToolCallPattern,
  type ToolCallPattern,
  type ToolPart,
} from "./tool-call-pattern.ts";
import { readValueGlob } from "./value-glob.ts";
import { jsonText, valueText } from "./value-text.ts";

/** A pattern that is ready to be compared with calls. */
export interface ToolCallMatcher {
  /** As data. */
  readonly pattern: ToolCallPattern;
  /** The canonical text. */
  readonly text: string;
  /** Equal for patterns that are one rule. */
  readonly key: string;
  /** Whether the tool part fits, whatever the input is. */
  matchesTool(toolId: string): boolean;
  /** Whether the call fits. */
  matches(toolId: string, input: JsonValue): boolean;
}

type Test = (text: string) => boolean;

function compileTool(tool: ToolPart): Test {
  switch (tool.type) {
    case "exact":
      return (id) => id === tool.id;
    case "glob":
      return readValueGlob(tool.glob, 0);
    case "regex":
      return readRegex(tool.source, 0);
  }
}

/** The comparison of values by an operator; the negated ones say the opposite. */
function compileOperator(op: Operator, value: string): Test {
  const positive: Test = op.endsWith("exact")
    ? (text) => text === value
    : op.endsWith("glob")
      ? readValueGlob(value, 0)
      : readRegex(value, 0);
  return op.startsWith("not-") ? (text) => !positive(text) : positive;
}

/** Whether some value at the path of a condition fits it. A part of a pattern: what is wrong with it is thrown as a problem. */
export function compileCondition({ path, op, value }: FieldCondition): (input: JsonValue) => boolean {
  const test = compileOperator(op, value);
  return (input) => valuesAt(input, path).some((one) => test(valueText(one)));
}

/** The one value of an input that has one, else the text of all of it. */
function primaryText(input: JsonValue): string {
  if (!isJsonObject(input)) return jsonText(input);
  const [only, ...others] = Object.values(input);
  return only !== undefined && others.length === 0 ? valueText(only) : jsonText(input);
}

function compileArgs(args: ArgsPart): (input: JsonValue) => boolean {
  if (args.type === "any") return () => true;
  if (args.type === "primary") {
    const test = readValueGlob(args.glob, 0);
    return (input) => test(primaryText(input));
  }
  const conditions = args.conditions.map(compileCondition);
  return (input) => conditions.every((holds) => holds(input));
}

/** Compiles a pattern once, so that a call is compared in time that is linear in it. Throws `invalid_pattern` with the position. */
export function compileToolCallPattern(given: string | ToolCallPattern): ToolCallMatcher {
  const pattern = typeof given === "string" ? parseToolCallPattern(given) : given;
  const text = printToolCallPattern(pattern);
  return parsing(text, () => {
    const matchesTool = compileTool(pattern.tool);
    const matchesInput = compileArgs(pattern.args);
    return Object.freeze({
      pattern,
      text,
      key: patternKey(pattern),
      matchesTool,
      matches: (toolId: string, input: JsonValue) => matchesTool(toolId) && matchesInput(input),
    });
  });
}
