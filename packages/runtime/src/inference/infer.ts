import { addUsage, type InferenceRequest, type Message, NO_USAGE, type Turn } from "@awaken/contract";
import type { Collected, Ending } from "./collected.ts";
import { Collector } from "./collector.ts";
import { failureText } from "./failure-text.ts";
import type { InferenceRun, Inferred } from "./inference-run.ts";
import { type StreamOutcome, streamTurn } from "./stream-turn.ts";
import { isTruncated, truncationMessages } from "./truncation.ts";

export type { InferenceRun, Inferred, LostCall } from "./inference-run.ts";
export { DEFAULT_INFERENCE_POLICY, type InferencePolicy } from "./policy.ts";
export type { CheckpointSlot, StreamCheckpoint } from "./stream-checkpoint.ts";

const ENDINGS: Readonly<Record<StreamOutcome["type"], Ending>> = { ended: "ended", cut: "cut", aborted: "dropped", failed: "dropped" };

let inferences = 0;

function withInferenceId(request: InferenceRequest): InferenceRequest {
  if (request.routing?.inferenceId?.trim()) return request;
  inferences += 1;
  return { ...request, routing: { ...request.routing, inferenceId: `stream-${inferences}` } };
}

/**
 * One answer of the model, with retries and recovery. Expected failure is a turn that says so; what a provider throws as
 * `AwakenError` is a bug and thrown on. After an abort the turn holds the text so far: the caller looks at the signal itself.
 */
export async function infer(run: InferenceRun): Promise<Inferred> {
  const startedAt = run.clock.now();
  const inserted: Message[] = [];
  let asked: InferenceRun = { ...run, request: withInferenceId(run.request) };
  let usage = NO_USAGE;
  for (let retry = 0; ; retry++) {
    const collector = new Collector(run);
    const outcome = filtered(await streamTurn(asked, collector));
    const collected = collector.collect(ENDINGS[outcome.type]);
    usage = addUsage(usage, collector.usage);
    if (retry >= run.policy.maxContinuationRetries || !isTruncated(outcome, collected)) {
      for (const { id, name, input } of collected.toolCalls) {
        run.emit({ type: "tool-call-ready", toolCallId: id, toolName: name, input });
      }
      const body = { ...collected, usage, model: run.request.model, durationMs: run.clock.now() - startedAt };
      return { turn: toTurn(body, outcome), inserted, lostCall: outcome.type === "cut" ? outcome.lostCall : undefined };
    }
    for (const { id, name } of collected.malformedCalls) {
      if (name !== "") run.emit({ type: "tool-call-cancel", toolCallId: id, toolName: name, reason: "output token limit" });
    }
    const messages = truncationMessages(collected, run.ids);
    inserted.push(...messages);
    asked = askAgain(asked, messages);
  }
}

/** The same question in the longer conversation. A checkpoint is of the first answer only. */
function askAgain({ checkpoints: _, ...run }: InferenceRun, messages: readonly Message[]): InferenceRun {
  const longer = [...run.request.messages, ...messages];
  return { ...run, request: { ...run.request, messages: run.reshape?.(longer) ?? longer } };
}

/** An answer that the vendor's filter cut is a failure, not an end. */
function filtered(outcome: StreamOutcome): StreamOutcome {
  if (outcome.type !== "ended" || outcome.reason !== "content-filter") return outcome;
  return { type: "failed", failure: { type: "content-filtered", message: "the provider's content filter stopped the answer" } };
}

function toTurn(body: Collected & Pick<Turn, "usage" | "model" | "durationMs">, outcome: StreamOutcome): Turn {
  switch (outcome.type) {
    case "ended":
      return { ...body, stopReason: outcome.reason };
    case "cut":
      return { ...body, stopReason: "tool-use" };
    case "aborted":
      return { ...body, stopReason: "end-turn" };
    case "failed":
      return { ...body, stopReason: "error", failure: { ...outcome.failure, message: failureText(outcome.failure) } };
  }
}
