import { AwakenError } from "@awaken/contract";
import type { StreamCheckpointStore } from "@awaken/contract/store";
import type { CommitPorts } from "../commit/commit-store.ts";
import type { LastingRecords } from "../loop/run-records.ts";
import type { Bounds } from "../stream/bounds.ts";

type Ask = <T>(what: string, asked: Promise<T>) => Promise<T>;

/** A store that does not answer is a store that failed: nobody asks it again for the same, though a commit may still come to be on record. */
const askWith =
  (bounds: Bounds): Ask =>
  (what, asked) =>
    bounds.wait(asked, {
      limit: "storeMs",
      onAbort: "record",
      code: "storage_io",
      name: () => `the store, which was asked to ${what},`,
    });

/** Work that nobody waits for any more must not commit: whoever began it was told that it failed. */
async function inOneTry<T>(records: LastingRecords, work: (ports: CommitPorts) => Promise<T>, ask: Ask): Promise<T> {
  let isLeft = false;
  const guarded = (ports: CommitPorts): Promise<T> =>
    work({
      runs: ports.runs,
      commit: async (commit) => {
        if (isLeft) throw new AwakenError("storage_io", "the store answered too late: nothing of this transaction was written");
        return ports.commit(commit);
      },
    });
  try {
    return await ask("commit a transaction", records.transaction(guarded));
  } catch (thrown) {
    isLeft = true;
    throw thrown;
  }
}

/** The records of a store, each request within its limit and raced against the abort. */
export function boundRecords(records: LastingRecords, bounds: Bounds): LastingRecords {
  const ask = askWith(bounds);
  const { threads, runs, messages, ledger } = records;
  return {
    threads: {
      load: (id) => ask("load a thread", threads.load(id)),
      loadHead: (id) => ask("load a thread", threads.loadHead(id)),
    },
    runs: {
      load: (id) => ask("load a run", runs.load(id)),
      list: (query) => ask("list runs", runs.list(query)),
      listByTicket: (id) => ask("list the runs of a ticket", runs.listByTicket(id)),
      listOpenTickets: (id) => ask("list open tickets", runs.listOpenTickets(id)),
    },
    messages: {
      load: (threadId, ids) => ask("load messages", messages.load(threadId, ids)),
      list: (threadId, query) => ask("list messages", messages.list(threadId, query)),
    },
    ledger: {
      load: (key) => ask("load an effect", ledger.load(key)),
      list: (runId, query) => ask("list the effects of a run", ledger.list(runId, query)),
    },
    commit: (commit) => ask("commit", records.commit(commit)),
    transaction: (work) => inOneTry(records, work, ask),
  };
}

export function boundStreams(streams: StreamCheckpointStore, bounds: Bounds): StreamCheckpointStore {
  const ask = askWith(bounds);
  return {
    load: (runId, step) => ask("load a stream", streams.load(runId, step)),
    put: (checkpoint) => ask("keep a stream", streams.put(checkpoint)),
    delete: (runId, step) => ask("forget a stream", streams.delete(runId, step)),
  };
}
