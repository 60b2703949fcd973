import { AwakenError } from "@awaken/contract";
import type { CommitResult, StreamCheckpointStore, ThreadCommit } from "@awaken/contract/store";
import type { CommitPorts } from "../commit/commit-store.ts";
import type { LastingRecords } from "../loop/run-records.ts";
import type { Bounds, Work } from "../stream/bounds.ts";

type Ask = <T>(what: Work, asked: Promise<T>) => Promise<T>;

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

const askWith =
  (bounds: Bounds): Ask =>
  (what, asked) =>
    bounds.wait(asked, what);

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
    return await ask(COMMIT_TRANSACTION, records.transaction(guarded));
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

  get #ask(): Ask {
    return askWith(this.#bounds);
  }

  get threads(): LastingRecords["threads"] {
    const [{ threads }, ask] = [this.#records, this.#ask];
    return {
      load: (id) => ask(LOAD_THREAD, threads.load(id)),
      loadHead: (id) => ask(LOAD_THREAD, threads.loadHead(id)),
    };
  }

  get runs(): LastingRecords["runs"] {
    const [{ runs }, ask] = [this.#records, this.#ask];
    return {
      load: (id) => ask(LOAD_RUN, runs.load(id)),
      list: (query) => ask(LIST_RUNS, runs.list(query)),
      listByTicket: (id) => ask(LIST_RUNS_OF_TICKET, runs.listByTicket(id)),
      listOpenTickets: (id) => ask(LIST_TICKETS, runs.listOpenTickets(id)),
    };
  }

  get messages(): LastingRecords["messages"] {
    const [{ messages }, ask] = [this.#records, this.#ask];
    return {
      load: (threadId, ids) => ask(LOAD_MESSAGES, messages.load(threadId, ids)),
      list: (threadId, query) => ask(LIST_MESSAGES, messages.list(threadId, query)),
    };
  }

  get ledger(): LastingRecords["ledger"] {
    const [{ ledger }, ask] = [this.#records, this.#ask];
    return {
      load: (key) => ask(LOAD_EFFECT, ledger.load(key)),
      list: (runId, query) => ask(LIST_EFFECTS, ledger.list(runId, query)),
    };
  }

  commit(commit: ThreadCommit): Promise<CommitResult> {
    return this.#ask(COMMIT, this.#records.commit(commit));
  }

  transaction<T>(work: (ports: CommitPorts) => Promise<T>): Promise<T> {
    return inOneTry(this.#records, work, this.#ask);
  }
}

export const boundRecords = (records: LastingRecords, bounds: Bounds): LastingRecords => new BoundRecords(records, bounds);

export function boundStreams(streams: StreamCheckpointStore, bounds: Bounds): StreamCheckpointStore {
  const ask = askWith(bounds);
  return {
    load: (runId, step) => ask(LOAD_STREAM, streams.load(runId, step)),
    put: (checkpoint) => ask(KEEP_STREAM, streams.put(checkpoint)),
    delete: (runId, step) => ask(FORGET_STREAM, streams.delete(runId, step)),
  };
}
