import type { MessageId, PersistedState } from "@awaken/contract";
import type { SequencedMessage, ThreadRecord } from "@awaken/contract/store";
import type { GrownView } from "./grown-view.ts";

/** One thread of a runtime without a store. */
export interface Row {
  record: ThreadRecord;
  state: PersistedState | undefined;
  readonly log: SequencedMessage[];
  /** So many rows are what a model may see of them; more, when somebody has looked. */
  plainCount: number;
  /** What it may see of a log that is not plain; absent until somebody asks for it. */
  view: GrownView | undefined;
  readonly seqs: Map<MessageId, number>;
  runCount: number;
}
