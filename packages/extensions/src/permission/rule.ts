import * as s from "@awaken/contract/schema";
import { compileToolCallPattern, type ToolCallMatcher } from "../pattern/compile-tool-call.ts";
import { BEHAVIORS, type Behavior } from "./section.ts";

export const SOURCES = ["system", "definition", "skill", "session", "user", "cli", "runtime"] as const;

/** Who made a rule, for whoever reads the state; it decides nothing. */
export type RuleSource = (typeof SOURCES)[number];

export const storedRuleSchema = s.object({
  /** What it is about: one tool by its id, or all calls that a pattern matches. */
  subject: s.taggedUnion("type", [
    s.object({ type: s.literal("tool"), toolId: s.string() }),
    s.object({ type: s.literal("pattern"), pattern: s.string() }),
  ]),
  /** What becomes of the calls that it matches. */
  behavior: s.enum(BEHAVIORS),
  /** Who made it. */
  source: s.enum(SOURCES),
});

/** A rule in the state of a thread or a run. */
export type StoredRule = s.output<typeof storedRuleSchema>;

/** A rule that is ready to be compared with calls. */
export interface Rule {
  readonly matcher: ToolCallMatcher;
  readonly behavior: Behavior;
}

type Subject = StoredRule["subject"];

/** The matcher of one tool, whatever its id is made of. */
const toolMatcher = (id: string): ToolCallMatcher => compileToolCallPattern({ tool: { type: "exact", id }, args: { type: "any" } });

const matcherOf = (subject: Subject): ToolCallMatcher =>
  subject.type === "tool" ? toolMatcher(subject.toolId) : compileToolCallPattern(subject.pattern);

/** The subject of a pattern in its one spelling: an exact id without conditions is the tool itself. Throws `invalid_pattern`. */
export function subjectOf(pattern: string): Subject {
  const { pattern: parsed, text } = compileToolCallPattern(pattern);
  const { tool, args } = parsed;
  return tool.type === "exact" && args.type === "any" ? { type: "tool", toolId: tool.id } : { type: "pattern", pattern: text };
}

/** Rules of one key are one rule. */
export const subjectKey = (subject: Subject): string => (subject.type === "tool" ? `tool:${subject.toolId}` : `pattern:${subject.pattern}`);

export const compileStored = ({ subject, behavior }: StoredRule): Rule => ({ matcher: matcherOf(subject), behavior });
