import type { ToolCall } from "@awaken/contract";

/** What was received of a stream that is not over. A cache of the turn in progress, never history. */
export interface StreamCheckpoint {
  readonly model: string;
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly inFlight?: { readonly id: string; readonly name: string; readonly partialInput: string };
  /** Unix milliseconds. */
  readonly updatedAt: number;
}

/** Where the checkpoint of one run and step is kept. `delete` may be called when there is none. */
export interface CheckpointSlot {
  load(): Promise<StreamCheckpoint | undefined>;
  save(checkpoint: StreamCheckpoint): Promise<void>;
  delete(): Promise<void>;
  /** Whether it stays after an abort, for whoever goes on with the answer. Default: it does not. */
  keeps?(): boolean;
  /** Older ones are ignored; default 15 minutes. */
  readonly maxAgeMs?: number;
}
