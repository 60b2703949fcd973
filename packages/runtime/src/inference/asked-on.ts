import { errorMessage, type InferenceRequest, type Message } from "@awaken/contract";
import type { Collected } from "./collected.ts";
import { isOverflow, told } from "./failed-answer.ts";
import type { InferenceRun } from "./inference-run.ts";
import { dropCalls } from "./recovery-plan.ts";
import type { StreamOutcome, Turning } from "./stream-outcome.ts";
import { goOn, truncationPlea } from "./truncation.ts";

/** An answer that the vendor's filter cut is a failure, not an end. */
export function filtered(outcome: StreamOutcome): StreamOutcome {
  if (outcome.type !== "ended" || outcome.reason !== "content-filter") return outcome;
  return { type: "failed", failure: { type: "content-filtered", message: "the provider's content filter stopped the answer" } };
}

/** Whether the token limit cut off something that the model can be asked to go on with. `saidBefore` is how much it had said before. */
function isTruncated(outcome: StreamOutcome, { text, toolCalls, malformedCalls }: Collected, saidBefore: number): boolean {
  if (outcome.type !== "ended" || outcome.reason !== "max-tokens" || toolCalls.length > 0) return false;
  // Shorter than before: it was asked anew on the way.
  const fresh = text.length < saidBefore ? text : text.slice(saidBefore);
  return malformedCalls.length > 0 || fresh.trim() !== "";
}

/** What to ask instead of a request that was too long. */
async function smallerOf(run: InferenceRun, refused: InferenceRequest): Promise<InferenceRequest | undefined> {
  try {
    return await run.shrink?.(refused);
  } catch (thrown) {
    run.log.warn(`a request was too long for the model, and cannot be made shorter: ${errorMessage(thrown)}`);
    return undefined;
  }
}

/** What else an answer was asked for: the rest, when it was cut off, or less, when that was too much. */
export class AskedOn {
  #plea: Message | undefined;
  #isShrunk = false;
  #continuations = 0;
  /** How much it had said before it was asked last. */
  #saidBefore = 0;

  get plea(): Message | undefined {
    return this.#plea;
  }

  get isContinued(): boolean {
    return this.#continuations > 0;
  }

  /** The next request, if there is a use in one, else how the answer ended. A smaller request is what it is an answer to from then on. */
  async next(turn: Turning, outcome: StreamOutcome, collected: Collected): Promise<InferenceRequest | StreamOutcome> {
    const { run, collector } = turn;
    const isCut = this.#continuations < run.policy.maxContinuationRetries && isTruncated(outcome, collected, this.#saidBefore);
    const smaller = this.#isShrunk || !isOverflow(outcome, collector) ? undefined : await smallerOf(run, turn.request);
    if (smaller !== undefined) {
      this.#isShrunk = true;
      turn.request = smaller;
    } else if (isCut) {
      this.#continuations += 1;
      for (const { id, name } of collected.malformedCalls) {
        if (name !== "") run.emit({ type: "tool-call-cancel", toolCallId: id, toolName: name, reason: "output token limit" });
      }
      this.#plea ??= truncationPlea(run.ids);
    } else return outcome.type === "failed" ? told(outcome) : outcome;
    dropCalls(collector);
    this.#saidBefore = collector.text.length;
    return goOn(run, turn.request, collected, this.#plea);
  }
}
