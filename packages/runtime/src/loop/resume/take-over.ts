import type { Activation } from "../activation.ts";
import { takeSeededDecisions } from "../decisions/take-decisions.ts";
import type { RunContext } from "../run-context.ts";
import { isSuperseding } from "../supersede.ts";

/** The run is taken up with its decisions, in one write: of two who take it up only one gets past this. */
export async function takeOver(ctx: RunContext, activation: Activation): Promise<void> {
  // Of a call that is abandoned and waited for several the state knew one.
  const hasAbandoned = isSuperseding(activation) && ctx.tally.usageBelow !== undefined;
  if (hasAbandoned) await ctx.landing.holding?.abandonBelow?.(ctx.identity.runId);
  await takeSeededDecisions(ctx, activation);
  await ctx.writer.write();
}
