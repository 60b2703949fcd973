import type { InferenceRequest } from "@awaken/contract";
import { CheckpointRecorder } from "./checkpoint-recorder.ts";
import { resumeFrom } from "./recovery-plan.ts";
import type { CheckpointSlot } from "./stream-checkpoint.ts";
import type { Attempting, Recovery, StreamOutcome, Turning } from "./stream-outcome.ts";

/** A turn that is kept while it streams: it goes on from what was kept before, if there is anything, else it begins with `first`. */
export async function recordedTurn(
  { run, request, collector }: Turning,
  begin: (recorder: CheckpointRecorder) => Attempting<StreamOutcome>,
  slot: CheckpointSlot,
  first: InferenceRequest,
): Promise<StreamOutcome> {
  const { clock, log, signal } = run;
  const recorder = new CheckpointRecorder({ slot, model: request.model, clock, log, signal });
  const work = begin(recorder);
  const saved = await recorder.load();
  const plan: Recovery = saved === undefined ? { type: "ask", request: first } : resumeFrom(work, saved);
  const outcome = plan.type === "cut" ? plan : await work.attempt(plan.request);
  if (outcome.type === "aborted" && slot.keeps?.() === true) await recorder.keep(collector);
  else if (outcome.type !== "failed") await recorder.discard();
  return outcome;
}
