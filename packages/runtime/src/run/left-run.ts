import type { Holding } from "../commit/holding.ts";
import { isLeft, type LeftRun, type LoopOutcome, type LoopResult } from "../loop/finish.ts";
import type { RunContext } from "../loop/run-context.ts";
import { stepSoFar } from "../loop/step-so-far.ts";

/** With what is known of it here: whoever waits for it follows it from there. */
export async function left(ended: LoopOutcome, ctx: RunContext, holding: Holding | undefined): Promise<LeftRun> {
  const run = isLeft(ended) ? ended : leftUnkept(ended);
  const { identity, progress } = ctx;
  const step = stepSoFar(progress);
  const place = (await holding?.place?.()) ?? { type: "unknown" };
  return { ...run, told: { runId: identity.runId, place, step } };
}

/** A run whose last commit could not be written is not over, whatever it says of itself. */
function leftUnkept({ runId, threadId, termination }: LoopResult): LeftRun {
  const { code = "storage_io", message } = termination.type === "error" ? termination : { message: "the run left without its last commit" };
  return { type: "left", runId, threadId, failure: { of: "store", code, message, mayPass: true, retryAfterMs: undefined } };
}
