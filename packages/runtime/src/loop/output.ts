import { outputRetriesSchema } from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";
import type { Judged, OutputCheck, RunContext } from "./run-context.ts";

/** How often an answer that does not fit is asked for again, when nobody says. */
export const OUTPUT_RETRIES = 2;

/** How often this run was asked again for its answer: it counts on when the run is resumed. */
export const outputRetries = defineRuntimeState("output_retries", {
  schema: outputRetriesSchema,
  initial: () => ({ count: 0 }),
  apply: ({ count }, add: number) => ({ count: count + add }),
});

/**
 * Checks the answer against the schema that the run asked for. One that does not fit goes back to the model, as often as the request
 * allows; then the run fails.
 */
export function judgeOutput(ctx: RunContext): "fits" | Promise<Judged> {
  return ctx.checkOutput === undefined ? "fits" : judge(ctx, ctx.checkOutput);
}

const judge = async (ctx: RunContext, checkOutput: OutputCheck): Promise<Judged> => (await ctx.seldom.open()).judge(ctx, checkOutput);
