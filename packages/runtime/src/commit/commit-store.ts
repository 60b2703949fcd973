import type { CommitThread, MessageStore, RunStore } from "@awaken/contract/store";

export interface CommitPorts {
  /** Records of runs. */
  readonly runs: Pick<RunStore, "load">;
  /** The one durable write of a thread. */
  readonly commit: CommitThread;
}

/** What writers of a run need of a store. */
export interface CommitStore extends CommitPorts {
  /** A message that is in a log is there for good. */
  readonly messages: Pick<MessageStore, "load" | "list">;
  /** All of `work` or nothing of it. */
  transaction<T>(work: (ports: CommitPorts) => Promise<T>): Promise<T>;
}
