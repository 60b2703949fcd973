import type { Desk, RunContext } from "../run-context.ts";
import type { AddressedDecision } from "./addressed-decision.ts";

/*
 * Decisions that came before their calls waited. Where there is a queue they are rows, and the desk has what their owner has read of them;
 * they are looked at where the run stops, and are over with the step.
 */

const NONE: readonly never[] = Object.freeze([]);

/** All that lies there: it does not lie there any more. */
export function takeFrom<Pile extends "early" | "untold">(desk: Desk, pile: Pile): Desk[Pile] {
  const taken = desk[pile];
  desk[pile] = NONE;
  return taken;
}

/** The next write says that they are not followed. */
export function refuse({ landing }: RunContext, batch: readonly AddressedDecision[]): void {
  landing.holding?.refuse?.(batch.map(({ decision }) => decision.id));
}

/** Vendors repeat the ids of calls: what was said about a call of this step must not reach one of a later step. */
export function dropEarly(ctx: RunContext): void {
  for (const batch of takeFrom(ctx.desk, "early")) {
    for (const { target } of batch) {
      ctx.log.warn(`decision refused: the call '${target}' did not wait`, { runId: ctx.identity.runId, code: "ticket_not_open" });
    }
    refuse(ctx, batch);
  }
}

/** Listeners hear of decisions when they are taken, and after the start of the run. */
export function tellDecisions(ctx: RunContext): void {
  for (const fact of takeFrom(ctx.desk, "untold")) ctx.tell(fact);
}
