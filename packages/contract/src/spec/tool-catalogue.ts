import * as s from "../schema/all.ts";
import { nonBlank } from "./fields.ts";
import type { Immutable } from "./immutable.ts";
import { compileToolPattern, type ToolPattern, toolPatternProblem } from "./tool-pattern.ts";

const ids = s.nullable(s.array(nonBlank));

const pattern = s.string().check(
  s.rule((text, report) => {
    const wrong = toolPatternProblem(text);
    if (wrong !== undefined) report(s.problem(`is invalid: ${wrong}`));
  }),
);
const patterns = s.nullable(s.array(pattern));

/**
 * Which tools an agent sees. `tools` (ids) and `toolPatterns` (globs) allow; `tools` is the spec's `allowed_tools`.
 * Absent, `null` and `[]` differ: only when both allow fields are absent is everything allowed.
 */
export const catalogueFields = {
  tools: ids,
  toolPatterns: patterns,
  excludedTools: ids,
  excludedToolPatterns: patterns,
};

export type ToolCatalogue = Immutable<{ [Field in keyof typeof catalogueFields]?: s.output<(typeof catalogueFields)[Field]> }>;

/** Allows everything when neither allow field was written. */
export function withAllowDefault<T extends ToolCatalogue>(spec: T): T {
  return spec.tools === undefined && spec.toolPatterns === undefined ? { ...spec, toolPatterns: ["*"] } : spec;
}

function compileList(ids: readonly string[] | null | undefined, patterns: readonly string[] | null | undefined): ToolPattern {
  const literal = new Set(ids);
  const globs = (patterns ?? []).map(compileToolPattern);
  return (toolId) => literal.has(toolId) || globs.some((matches) => matches(toolId));
}

/** Whether a tool may be seen: allowed by id or pattern and not excluded; an exclusion always wins. */
export function compileToolCatalogue(catalogue: ToolCatalogue): ToolPattern {
  const isAllowed = compileList(catalogue.tools, catalogue.toolPatterns);
  const isExcluded = compileList(catalogue.excludedTools, catalogue.excludedToolPatterns);
  return (toolId) => isAllowed(toolId) && !isExcluded(toolId);
}
