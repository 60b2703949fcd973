import type { Message, MessageId, TaskEvent } from "@awaken/contract";
import type { Command } from "../phase/command.ts";
import type { StateReader } from "../state/snapshot.ts";

/** The end of a background compaction. It is looked at when it is consumed, because it may be stale by then. */
export interface CompactionNotice {
  /** What to swap: everything up to and with `upTo` for the summary. Undefined when this notice is stale or brings no summary. */
  swap(state: StateReader):
    | {
        /** The last message that goes. */
        readonly upTo: MessageId;
        /** What takes its place. */
        readonly summary: Message;
      }
    | undefined;
  /** The bookkeeping that follows; undefined leaves the state alone. */
  bookkeep(state: StateReader, isSwapped: boolean): Command | undefined;
}

/** What reaches a run from outside while it is active. */
export type InboxItem =
  | {
      readonly type: "messages";
      /** Enter the run after its current step at the earliest. */
      readonly messages: readonly Message[];
    }
  | {
      readonly type: "task";
      /** The news of it. */
      readonly event: TaskEvent;
    }
  /** No message: only asks the run to look at the thread's pending messages. */
  | { readonly type: "wake" }
  | {
      readonly type: "compaction";
      /** Looked at when it is read. */
      readonly notice: CompactionNotice;
    };
