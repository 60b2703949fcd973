import { errorMessage } from "../error.ts";
import * as s from "../schema/all.ts";
import { count, nonBlank } from "./fields.ts";
import type { Immutable } from "./immutable.ts";

const MAX_TIMEOUT_SECONDS = 86_400;
const MAX_TOKENS = 100_000_000;
const MAX_PATTERN = 1_024;
const MAX_WINDOW = 64;

const atMost = (name: string, maximum: number) =>
  count.check(
    s.rule(
      (value, report) => {
        if (value > maximum) report(s.message(`${name} must be <= ${maximum}, got ${value}`));
      },
      { maximum },
    ),
  );

/** The regular expression of a `content-match`. The one place that chooses its dialect. */
export const compileContentPattern = (pattern: string): RegExp => new RegExp(pattern, "u");

function checkPattern(pattern: string, report: (issue: s.Issue) => void): void {
  if (pattern.length > MAX_PATTERN) {
    report(s.message(`content-match.pattern must be <= ${MAX_PATTERN} characters, got ${pattern.length}`));
    return;
  }
  try {
    compileContentPattern(pattern);
  } catch (thrown) {
    report(s.message(`content-match.pattern must be a regular expression: ${errorMessage(thrown)}`));
  }
}

const contentPattern = s.string().check(s.rule(checkPattern, { maxLength: MAX_PATTERN }));

/** When a run ends before the model is done. A limit of 0, or an empty pattern, never fires. */
export const stopConditionSchema = s.taggedUnion("type", [
  s.strictObject({
    type: s.literal("max-steps"),
    /** How many inferences the run may take. */
    steps: count,
  }),
  s.strictObject({
    type: s.literal("timeout"),
    /** How long the run may take, at most a day. */
    seconds: atMost("timeout.seconds", MAX_TIMEOUT_SECONDS),
  }),
  s.strictObject({
    type: s.literal("token-budget"),
    /** Tokens of the whole run, sent and answered. */
    maxTotal: atMost("token-budget.maxTotal", MAX_TOKENS),
  }),
  s.strictObject({
    type: s.literal("consecutive-errors"),
    /** How many inferences in a row may fail. */
    max: count,
  }),
  s.strictObject({
    type: s.literal("stop-on-tool"),
    /** The run stops after a step that called this tool. */
    toolName: nonBlank,
  }),
  s.strictObject({
    type: s.literal("content-match"),
    /** A regular expression; the run stops when an answer matches. */
    pattern: contentPattern,
  }),
  s.strictObject({
    type: s.literal("loop-detection"),
    /** How many of the latest steps are compared; the run stops when they repeat. */
    window: atMost("loop-detection.window", MAX_WINDOW),
  }),
]);

export type StopCondition = Immutable<s.output<typeof stopConditionSchema>>;
