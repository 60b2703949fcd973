import { CheckpointRecorder } from "./checkpoint-recorder.ts";
import type { InferenceRun } from "./inference-run.ts";
import { resumeFrom } from "./recovery-plan.ts";
import type { CheckpointSlot } from "./stream-checkpoint.ts";
import type { Asked, Attempting, Recovery, StreamOutcome } from "./stream-outcome.ts";

/** A turn that is kept while it streams: it goes on from what was kept before, if there is anything. */
export async function recordedTurn(
  begin: (recorder: CheckpointRecorder) => Attempting<StreamOutcome>,
  run: InferenceRun,
  slot: CheckpointSlot,
  { asked, first }: Asked,
): Promise<StreamOutcome> {
  const { clock, log, signal } = run;
  const recorder = new CheckpointRecorder({ slot, model: asked.model, clock, log, signal });
  const work = begin(recorder);
  const saved = await recorder.load();
  const plan: Recovery = saved === undefined ? { type: "ask", request: first } : resumeFrom(work, saved);
  const outcome = plan.type === "cut" ? plan : await work.attempt(plan.request);
  if (outcome.type === "aborted" && run.keepsCheckpoint?.() === true) await recorder.keep(work.collector);
  else if (outcome.type !== "failed") await recorder.discard();
  return outcome;
}
