import { AwakenError } from "@awaken/contract";
import type { RunContext } from "../run-context.ts";
import { refuse, takeFrom, tellDecisions } from "./early-decisions.ts";
import { applyDecisions } from "./take-decisions.ts";

/** A batch that does not fit changes nothing, neither the others nor the run: one stale click must not kill it. */
export async function takeEarly(ctx: RunContext): Promise<void> {
  for (const batch of takeFrom(ctx.desk, "early")) {
    try {
      await applyDecisions(ctx, batch);
      tellDecisions(ctx);
    } catch (thrown) {
      if (!AwakenError.is(thrown)) throw thrown;
      ctx.log.warn(`decisions refused: ${thrown.message}`, { runId: ctx.identity.runId, code: thrown.code });
      refuse(ctx, batch);
    }
  }
}
