import type { Activation } from "../activation.ts";
import { takeSeededDecisions } from "../decisions/take-decisions.ts";
import type { RunContext } from "../run-context.ts";

/** The run is taken up with its decisions, in one write: of two who take it up only one gets past this. */
export async function takeOver(ctx: RunContext, activation: Pick<Activation, "seededDecisions">): Promise<void> {
  await takeSeededDecisions(ctx, activation);
  await ctx.writer.write();
}
