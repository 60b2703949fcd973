import { AwakenError } from "@awaken/contract";
import { type CommitThread, MAX_COMMIT_ATTEMPTS, type MessageStore, type RunStore } from "@awaken/contract/store";

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

/** Does all of `work` again when somebody else wrote at the same moment: the next look tells what. */
export async function inTransaction<T>(store: CommitStore, work: (ports: CommitPorts) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.transaction(work);
    } catch (thrown) {
      const isOvertaken = AwakenError.is(thrown) && thrown.code === "version_conflict";
      if (!isOvertaken || attempt === MAX_COMMIT_ATTEMPTS) throw thrown;
    }
  }
}
