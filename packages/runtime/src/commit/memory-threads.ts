import {
  AwakenError,
  checkRunTransition,
  DEFAULT_SCOPE,
  type PersistedState,
  type RunId,
  type RunRecord,
  type ScopeId,
  type ThreadId,
} from "@awaken/contract";
import {
  arePlainMessages,
  type CommitResult,
  type CommitThread,
  isPlainLog,
  type MessageDelta,
  type MessageStore,
  newThread,
  projectRun,
  type RunStore,
  type SequencedMessage,
  type ThreadCommit,
  type ThreadHead,
  type ThreadStore,
} from "@awaken/contract/store";
import type { CommitPorts, CommitStore } from "./commit-store.ts";
import type { Row } from "./memory-row.ts";
import { seldom } from "./seldom-door.ts";

/** What one tenant has. */
interface Tables {
  readonly rows: Map<ThreadId, Row>;
  readonly runs: Map<RunId, RunRecord>;
}

/** The threads of a runtime that was given no store: what its runs need of one, and no more. They live as long as it does. */
export class MemoryThreads implements CommitStore {
  readonly #now: () => number;
  readonly #scopeId: ScopeId;
  /** There is nothing in it for a tenant that wrote nothing. */
  readonly #tenants: Map<ScopeId, Tables>;

  constructor(now: () => number, scopeId: ScopeId = DEFAULT_SCOPE, tenants: Map<ScopeId, Tables> = new Map()) {
    this.#now = now;
    this.#scopeId = scopeId;
    this.#tenants = tenants;
  }

  /** Those of another tenant. */
  scoped(scopeId: ScopeId): MemoryThreads {
    return new MemoryThreads(this.#now, scopeId, this.#tenants);
  }

  get #own(): Tables | undefined {
    return this.#tenants.get(this.#scopeId);
  }

  get #runs(): readonly RunRecord[] {
    return [...(this.#own?.runs.values() ?? [])];
  }

  /** A claim is for whoever goes on when the process is gone. */
  readonly ledger = undefined;

  readonly threads: Pick<ThreadStore, "load" | "loadHead"> = {
    load: async (id) => this.#own?.rows.get(id)?.record,
    loadHead: async (id) => {
      const row = this.#own?.rows.get(id);
      if (row !== undefined && !isPlain(row)) await seldom.open();
      return row && this.#headOf(row);
    },
  };

  readonly runs: Pick<RunStore, "load" | "list" | "listByTicket" | "listOpenTickets"> = {
    load: async (id) => this.#own?.runs.get(id),
    list: async (query) => (await seldom.open()).listRuns(this.#runs, query),
    listByTicket: async (id) => (await seldom.open()).listByTicket(this.#runs, id),
    listOpenTickets: async (root) => (await seldom.open()).listOpenTickets(this.#runs, root),
  };

  readonly messages: Pick<MessageStore, "load" | "list"> = {
    load: async (threadId, ids) => (await seldom.open()).loadRows(this.#own?.rows.get(threadId), ids),
    list: async (threadId, query) => (await seldom.open()).listRows(this.#own?.rows.get(threadId), query),
  };

  /** In one synchronous piece: nobody sees half of it. Everything that can refuse comes before the first change. */
  readonly commit: CommitThread = async (commit) => {
    const isPlain = arePlainMessages(commit.messageDelta?.messages ?? []);
    if (!isPlain && seldom.room === undefined) await seldom.open();
    return this.#commit(commit, isPlain);
  };

  /** Runs of one thread come one after the other in this process, so nothing has to be kept apart. */
  transaction<T>(work: (ports: CommitPorts) => Promise<T>): Promise<T> {
    return work(this);
  }

  /** The state that was committed last. */
  stateOf(id: ThreadId): PersistedState | undefined {
    return this.#own?.rows.get(id)?.state;
  }

  #headOf(row: Row): ThreadHead {
    const { record, state, log } = row;
    const latestRun = record.latestRun === undefined ? undefined : this.#own?.runs.get(record.latestRun.id);
    const openRun = record.openRunId === undefined ? undefined : this.#own?.runs.get(record.openRunId);
    return {
      thread: record,
      messages: effectiveOf(row),
      messageCount: log.length,
      ...(latestRun === undefined ? {} : { latestRun }),
      ...(openRun === undefined ? {} : { openRun }),
      ...(state === undefined ? {} : { state }),
    };
  }

  #commit(commit: ThreadCommit, isPlain: boolean): CommitResult {
    const { threadId, messageDelta, threadState } = commit;
    const own = this.#own ?? { rows: new Map<ThreadId, Row>(), runs: new Map<RunId, RunRecord>() };
    const row = own.rows.get(threadId) ?? this.#newRow(threadId);
    if (messageDelta !== undefined) checkDelta(row, threadId, messageDelta, isPlain);
    const run = this.#nextRun(row, commit);
    this.#tenants.set(this.#scopeId, own);
    own.rows.set(threadId, row);
    for (const message of messageDelta?.messages ?? []) {
      row.log.push({ seq: row.log.length + 1, message });
      row.seqs.set(message.id, row.log.length);
    }
    if (threadState !== undefined) row.state = threadState;
    if (run !== undefined) {
      row.runCount = Math.max(row.runCount, run.ordinal);
      row.record = projectRun(row.record, run);
      own.runs.set(run.runId, run);
    }
    return { messageCount: row.log.length, events: [], hasWishes: false, ...(run === undefined ? {} : { run }) };
  }

  #newRow(threadId: ThreadId): Row {
    const record = newThread(threadId, this.#now());
    return { record, state: undefined, log: [], plainCount: 0, view: undefined, seqs: new Map(), runCount: 0 };
  }

  #nextRun(row: Row, { run, runId, isNewRun }: ThreadCommit): RunRecord | undefined {
    if (run === undefined) return undefined;
    const before = this.#own?.runs.get(runId);
    if (before !== undefined) {
      if (isNewRun) throw new AwakenError("storage_already_exists", `run '${runId}' exists already`, { details: { runId } });
      checkRunTransition(before, run);
    }
    return { ...run, ordinal: before?.ordinal ?? row.runCount + 1 };
  }
}

/** Costs what was added since the last time. */
function isPlain(row: Row): boolean {
  if (row.view !== undefined || !isPlainLog(row.log, row.plainCount)) return false;
  row.plainCount = row.log.length;
  return true;
}

function effectiveOf(row: Row): readonly SequencedMessage[] {
  if (isPlain(row)) return row.log.slice();
  row.view = seldom.here.grownView(row.log, row.view);
  return row.view.growing.messages;
}

/** Nobody but the runtime writes here, so only messages are looked at: those are what callers, tools and models said. */
function checkDelta(row: Row, threadId: ThreadId, { messages, expectedMessageCount: expected }: MessageDelta, isPlain: boolean): void {
  const actual = row.log.length;
  if (actual !== expected) {
    throw new AwakenError("message_version_conflict", `thread '${threadId}' has ${actual} messages, not ${expected}`, {
      details: { threadId, expected, actual },
    });
  }
  if (!isPlain) seldom.here.checkMessageDelta(messages, { nextSeq: expected + 1 });
  const known = messages.find((message) => row.seqs.has(message.id));
  if (known === undefined) return;
  throw new AwakenError("storage_validation", `message '${known.id}' is in the log of thread '${threadId}' already`, {
    details: { threadId, messageId: known.id },
  });
}
