import { InferenceError } from "@awaken/contract";
import { asksTooMuch, backoffMs } from "./backoff.ts";
import { classify } from "./classify.ts";
import { isTransient, waitToRetry } from "./retry.ts";
import type { Opened, OpenInit, Tried } from "./stream-outcome.ts";

/** Why a request is given up that nobody refused. */
export const tooLate = (ms: number): InferenceError =>
  new InferenceError({ type: "timeout", message: `the provider opened no stream within ${ms / 1000} s` });

/** After a stream that was not opened: tries again after transient failures, as often as the policy says. */
export async function openAgain(init: OpenInit, refusal: unknown, tryOnce: () => Tried | Promise<Tried>): Promise<Opened> {
  const { policy } = init;
  let thrown = refusal;
  for (let retry = 0; ; retry++) {
    const failure = classify(thrown);
    if (retry >= policy.maxRetries || !isTransient(failure) || asksTooMuch(policy, failure)) return { type: "refused", failure };
    if (!(await waitToRetry(init, failure.message, retry + 1, backoffMs(policy, failure, retry)))) return { type: "aborted" };
    const tried = await tryOnce();
    if (tried.type !== "thrown") return tried;
    thrown = tried.thrown;
  }
}
