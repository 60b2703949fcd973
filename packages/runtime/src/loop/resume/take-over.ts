import type { Activation } from "../activation.ts";
import { openChildren } from "../child-calls.ts";
import { takeSeededDecisions } from "../decisions/take-decisions.ts";
import type { RunContext } from "../run-context.ts";

/**
 * What the end of the run needs for those that it has begun, or that began it. Rejects when it cannot be loaded: the run stays as it was on
 * record, for whoever can also end it.
 */
async function ready({ leftChildren, children, state, identity, tasks }: RunContext): Promise<void> {
  if (leftChildren.length + openChildren(state).length > 0) await children.ready();
  if (tasks.hasAny || identity.taskId !== undefined) await tasks.ready();
}

/** The run is taken up with its decisions, in one write: of two who take it up only one gets past this. */
export async function takeOver(ctx: RunContext, activation: Pick<Activation, "seededDecisions">): Promise<void> {
  await ready(ctx);
  await takeSeededDecisions(ctx, activation);
  await ctx.writer.write();
}
