import * as z from "zod";
import { errorMessage } from "../error.ts";
import { count, nonBlank } from "./fields.ts";
import type { Immutable } from "./immutable.ts";

const MAX_TIMEOUT_SECONDS = 86_400;
const MAX_TOKENS = 100_000_000;
const MAX_PATTERN = 1_024;
const MAX_WINDOW = 64;

const atMost = (name: string, maximum: number) =>
  count.max(maximum, { error: (issue) => `${name} must be <= ${maximum}, got ${String(issue.input)}` });

/** The regular expression of a `content-match`. The one place that chooses its dialect. */
export const compileContentPattern = (pattern: string): RegExp => new RegExp(pattern, "u");

const contentPattern = z
  .string()
  .max(MAX_PATTERN, {
    abort: true,
    error: ({ input }) => `content-match.pattern must be <= ${MAX_PATTERN} characters, got ${String(input).length}`,
  })
  .superRefine((pattern, ctx) => {
    try {
      compileContentPattern(pattern);
    } catch (thrown) {
      ctx.addIssue({ code: "custom", message: `content-match.pattern must be a regular expression: ${errorMessage(thrown)}` });
    }
  });

/** When a run ends before the model is done. A limit of 0, or an empty pattern, never fires. */
export const stopConditionSchema = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("max-steps"), steps: count }),
  z.strictObject({ type: z.literal("timeout"), seconds: atMost("timeout.seconds", MAX_TIMEOUT_SECONDS) }),
  z.strictObject({ type: z.literal("token-budget"), maxTotal: atMost("token-budget.maxTotal", MAX_TOKENS) }),
  z.strictObject({ type: z.literal("consecutive-errors"), max: count }),
  z.strictObject({ type: z.literal("stop-on-tool"), toolName: nonBlank }),
  z.strictObject({ type: z.literal("content-match"), pattern: contentPattern }),
  z.strictObject({ type: z.literal("loop-detection"), window: atMost("loop-detection.window", MAX_WINDOW) }),
]);

export type StopCondition = Immutable<z.output<typeof stopConditionSchema>>;
