import { AwakenError, errorMessage, type Termination, type Ticket } from "@awaken/contract";
import { openTickets } from "../commit/open-tickets.ts";
import { openChildren } from "./child-calls.ts";
import { closeCalls } from "./close-calls.ts";
import { attempt, mayWaitBelow } from "./finish.ts";
import { hasOpenCalls } from "./open-calls.ts";
import type { RunContext } from "./run-context.ts";

/** Messages of the last step are delivered when they are on record, and off the record with the end. */
async function tryDeliver(ctx: RunContext): Promise<void> {
  try {
    await ctx.writer.write();
    await ctx.tasks.deliver();
  } catch (thrown) {
    ctx.log.warn(`messages to other agents wait for the next run: ${errorMessage(thrown)}`, { runId: ctx.identity.runId });
  }
}

const isLost = (reason: unknown): boolean => AwakenError.is(reason) && reason.code === "fence_lost";

/** What a run that was told to stop has started stops with it. One that somebody else has by now leaves it to him. */
async function cancelBelow(ctx: RunContext, termination: Termination): Promise<void> {
  const children = openChildren(ctx.state);
  const { holding } = ctx.landing;
  holding?.abandon?.(children);
  // Of a call that waits for several the state knows one.
  if (children.length > 0 || mayWaitBelow(ctx))
    await attempt(ctx, "runs below could not be looked for", () => holding?.abandonBelow?.(ctx.identity.runId));
  if (termination.type === "cancelled" && ctx.tasks.hasAny && !isLost(ctx.signal.reason)) await ctx.tasks.cancel();
}

/** What a run began that is at its end, and what waits in it. `isOver`: it goes on nowhere, and neither does that. */
export async function endBegun(ctx: RunContext, termination: Termination, isElsewhere: boolean, isOver: boolean): Promise<void> {
  if (ctx.tasks.hasOutbox && !isElsewhere) await tryDeliver(ctx);
  if (ctx.tasks.hasAny) ctx.tally.begunBelow();
  if (!isOver) return;
  if (!isElsewhere) await cancelBelow(ctx, termination);
  if (hasOpenCalls(ctx)) await closeCalls(ctx);
}

/** Also those of the runs that its calls wait for. They stay theirs: the record of this run has its own alone. */
export async function allTickets(ctx: RunContext): Promise<readonly Ticket[]> {
  const own = openTickets(ctx);
  try {
    const all = await ctx.children.tickets();
    return [...own, ...all.filter(({ runId }) => runId !== ctx.identity.runId)];
  } catch (thrown) {
    ctx.log.warn(`tickets of other runs could not be read: ${errorMessage(thrown)}`, { runId: ctx.identity.runId });
    return own;
  }
}
