import { AwakenError } from "@awaken/contract";
import { answerOf, type CommitResult, type StreamCheckpointStore, type ThreadCommit } from "@awaken/contract/store";
import type { CommitPorts } from "../commit/commit-store.ts";
import type { LastingRecords } from "../loop/run-records.ts";
import type { Bounds, Work } from "../stream/bounds.ts";

/** A store that does not answer is a store that failed: nobody asks it again for the same, though a commit may still come to be on record. */
const askedTo = (what: string): Work => ({
  limit: "storeMs",
  onAbort: "record",
  code: "storage_io",
  name: () => `the store, which was asked to ${what},`,
});

const LOAD_THREAD = askedTo("load a thread");
const LOAD_RUN = askedTo("load a run");
const LIST_RUNS = askedTo("list runs");
const LIST_RUNS_OF_TICKET = askedTo("list the runs of a ticket");
const LIST_TICKETS = askedTo("list open tickets");
const LOAD_MESSAGES = askedTo("load messages");
const LIST_MESSAGES = askedTo("list messages");
const LOAD_EFFECT = askedTo("load an effect");
const LIST_EFFECTS = askedTo("list the effects of a run");
const COMMIT = askedTo("commit");
const COMMIT_TRANSACTION = askedTo("commit a transaction");
const LOAD_STREAM = askedTo("load a stream");
const KEEP_STREAM = askedTo("keep a stream");
const FORGET_STREAM = askedTo("forget a stream");

/** Work that nobody waits for any more must not commit: whoever began it was told that it failed. */
async function inOneTry<T>(records: LastingRecords, work: (ports: CommitPorts) => Promise<T>, bounds: Bounds): Promise<T> {
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
    return await bounds.wait(records.transaction(guarded), COMMIT_TRANSACTION);
  } catch (thrown) {
    isLeft = true;
    throw thrown;
  }
}

/**
 * The records of a store, each request within its limit and raced against the abort. A run has its own and asks for few things: what is
 * asked for is made then, which saves a run that waits 0.9 KiB.
 */
class BoundRecords implements LastingRecords {
  readonly #records: LastingRecords;
  readonly #bounds: Bounds;

  constructor(records: LastingRecords, bounds: Bounds) {
    this.#records = records;
    this.#bounds = bounds;
  }

  get threads(): LastingRecords["threads"] {
    const { threads } = this.#records;
    const bounds = this.#bounds;
    return {
      load: (id) => bounds.wait(threads.load(id), LOAD_THREAD),
      loadHead: (id) => bounds.wait(threads.loadHead(id), LOAD_THREAD),
    };
  }

  get runs(): LastingRecords["runs"] {
    const { runs } = this.#records;
    const bounds = this.#bounds;
    return {
      load: (id) => bounds.wait(runs.load(id), LOAD_RUN),
      list: (query) => bounds.wait(runs.list(query), LIST_RUNS),
      listByTicket: (id) => bounds.wait(runs.listByTicket(id), LIST_RUNS_OF_TICKET),
      listOpenTickets: (id) => bounds.wait(runs.listOpenTickets(id), LIST_TICKETS),
    };
  }

  get messages(): LastingRecords["messages"] {
    const { messages } = this.#records;
    const bounds = this.#bounds;
    return {
      load: (threadId, ids) => bounds.wait(messages.load(threadId, ids), LOAD_MESSAGES),
      list: (threadId, query) => bounds.wait(messages.list(threadId, query), LIST_MESSAGES),
    };
  }

  get ledger(): LastingRecords["ledger"] {
    const { ledger } = this.#records;
    const bounds = this.#bounds;
    return {
      load: (key) => bounds.wait(ledger.load(key), LOAD_EFFECT),
      list: (runId, query) => bounds.wait(ledger.list(runId, query), LIST_EFFECTS),
    };
  }

  commit(commit: ThreadCommit): Promise<CommitResult> {
    const asked = this.#records.commit(commit);
    return answerOf(asked) === undefined ? this.#bounds.wait(asked, COMMIT) : asked;
  }

  transaction<T>(work: (ports: CommitPorts) => Promise<T>): Promise<T> {
    return inOneTry(this.#records, work, this.#bounds);
  }
}

export const boundRecords = (records: LastingRecords, bounds: Bounds): LastingRecords => new BoundRecords(records, bounds);

export function boundStreams(streams: StreamCheckpointStore, bounds: Bounds): StreamCheckpointStore {
  return {
    load: (runId, step) => bounds.wait(streams.load(runId, step), LOAD_STREAM),
    put: (checkpoint) => bounds.wait(streams.put(checkpoint), KEEP_STREAM),
    delete: (runId, step) => bounds.wait(streams.delete(runId, step), FORGET_STREAM),
  };
}
