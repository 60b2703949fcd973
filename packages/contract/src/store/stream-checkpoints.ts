import type { RunId, ThreadId, ToolCallId } from "../ids.ts";
import * as s from "../schema/all.ts";
import { runIdSchema, threadIdSchema, toolCallIdSchema } from "../stored.ts";
import type { ToolCall } from "../tool.ts";
import { defineRecord } from "./record.ts";
import { toolCallSchema } from "./record-pieces.ts";
import { countSchema, nonBlankSchema, timeSchema } from "./row-schemas.ts";

export const STREAM_CHECKPOINT_SCHEMA_VERSION = 1;

/** The turn in flight, as far as it came. Cumulative: after a resume it still begins with what was restored. */
export interface StreamCheckpoint {
  readonly schemaVersion: typeof STREAM_CHECKPOINT_SCHEMA_VERSION;
  readonly runId: RunId;
  readonly step: number;
  readonly threadId: ThreadId;
  readonly upstreamModel: string;
  readonly partialText: string;
  readonly completedToolCalls: readonly ToolCall[];
  readonly inFlightTool?: { readonly id: ToolCallId; readonly name: string; readonly partialInput: string };
  readonly updatedAt: number;
}

export const streamCheckpoint = defineRecord<StreamCheckpoint>({
  name: "stream checkpoint",
  version: STREAM_CHECKPOINT_SCHEMA_VERSION,
  schema: s.strictObject({
    schemaVersion: s.literal(STREAM_CHECKPOINT_SCHEMA_VERSION),
    runId: runIdSchema,
    step: countSchema,
    threadId: threadIdSchema,
    upstreamModel: nonBlankSchema,
    partialText: s.string(),
    completedToolCalls: s.array(toolCallSchema),
    inFlightTool: s.exactOptional(s.strictObject({ id: toolCallIdSchema, name: s.string(), partialInput: s.string() })),
    updatedAt: timeSchema,
  }),
});

/**
 * A cache, one row per run and step: callers log what it throws and go on without it. The commit that lands the turn deletes the row,
 * retention the rows of runs that never came back.
 */
export interface StreamCheckpointStore {
  /** Inserts or replaces. */
  put(checkpoint: StreamCheckpoint): Promise<void>;

  load(runId: RunId, step: number): Promise<StreamCheckpoint | undefined>;

  /** Nothing to delete is fine. */
  delete(runId: RunId, step: number): Promise<void>;
}
