import { toolCallId } from "@awaken/contract";
import { STREAM_CHECKPOINT_SCHEMA_VERSION, type StreamCheckpointStore } from "@awaken/contract/store";
import type { CheckpointSlot } from "../inference/infer.ts";
import type { RunContext } from "./run-context.ts";

/** Where the answer that is being streamed in one step is kept, so that another process can go on with it. */
export function streamSlot({ identity, tally, signal }: RunContext, store: StreamCheckpointStore): CheckpointSlot {
  const { runId, threadId } = identity;
  const step = tally.steps;
  return {
    async load() {
      const stored = await store.load(runId, step);
      if (stored === undefined) return undefined;
      const { upstreamModel: model, partialText: text, completedToolCalls: toolCalls, inFlightTool: inFlight, updatedAt } = stored;
      return { model, text, toolCalls, updatedAt, ...(inFlight === undefined ? {} : { inFlight }) };
    },
    save: ({ model, text, toolCalls, inFlight, updatedAt }) =>
      store.put({
        schemaVersion: STREAM_CHECKPOINT_SCHEMA_VERSION,
        runId,
        threadId,
        step,
        upstreamModel: model,
        partialText: text,
        completedToolCalls: toolCalls,
        updatedAt,
        ...(inFlight === undefined ? {} : { inFlightTool: { ...inFlight, id: toolCallId(inFlight.id) } }),
      }),
    keeps: () => !signal.aborted,
    delete: () => store.delete(runId, step),
  };
}
