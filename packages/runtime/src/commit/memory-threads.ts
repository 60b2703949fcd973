import {
  AwakenError,
  checkRunTransition,
  DEFAULT_SCOPE,
  type MessageId,
  type PersistedState,
  type RunId,
  type RunRecord,
  type ScopeId,
  type ThreadId,
} from "@awaken/contract";
import {
  type CommitResult,
  type CommitThread,
  checkMessageDelta,
  foldedUpTo,
  GrowingView,
  MESSAGE_SCHEMA_VERSION,
  type MessageDelta,
  type MessageRecord,
  type MessageStore,
  projectRun,
  type RunStore,
  type SequencedMessage,
  type ThreadCommit,
  type ThreadHead,
  type ThreadRecord,
  type ThreadStore,
  toThreadRecord,
} from "@awaken/contract/store";
import type { CommitPorts, CommitStore } from "./commit-store.ts";
import { seldom } from "./seldom-door.ts";

interface Row {
  record: ThreadRecord;
  state: PersistedState | undefined;
  readonly log: SequencedMessage[];
  /** What a model may see of the first `count` rows; absent until somebody asks for it. */
  view: { readonly growing: GrowingView; count: number } | undefined;
  readonly seqs: Map<MessageId, number>;
  runCount: number;
}

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
    loadHead: async (id) => this.read(id),
  };

  readonly runs: Pick<RunStore, "load" | "list" | "listByTicket" | "listOpenTickets"> = {
    load: async (id) => this.#own?.runs.get(id),
    list: async (query) => (await seldom.open()).listRuns(this.#runs, query),
    listByTicket: async (id) => (await seldom.open()).listByTicket(this.#runs, id),
    listOpenTickets: async (root) => (await seldom.open()).listOpenTickets(this.#runs, root),
  };

  readonly messages: Pick<MessageStore, "load" | "list"> = {
    load: async (threadId, ids) => {
      const row = this.#own?.rows.get(threadId);
      const seqs = ids.flatMap((id) => row?.seqs.get(id) ?? []).sort((a, b) => a - b);
      return seqs.flatMap((seq) => toRecords(row, row?.log.slice(seq - 1, seq)));
    },
    // In one page, as the runtime asks for it: whatever stands behind a row.
    list: async (threadId, { afterSeq = 0 }) => {
      const row = this.#own?.rows.get(threadId);
      return { items: toRecords(row, row?.log.slice(afterSeq)) };
    },
  };

  /** In one synchronous piece: nobody sees half of it. Everything that can refuse comes before the first change. */
  readonly commit: CommitThread = async (commit) => this.#commit(commit);

  /** Runs of one thread come one after the other in this process, so nothing has to be kept apart. */
  transaction<T>(work: (ports: CommitPorts) => Promise<T>): Promise<T> {
    return work(this);
  }

  /** The thread as it stands. */
  read(id: ThreadId): ThreadHead | undefined {
    const row = this.#own?.rows.get(id);
    if (row === undefined) return undefined;
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

  #commit(commit: ThreadCommit): CommitResult {
    const { threadId, messageDelta, threadState } = commit;
    const own = this.#own ?? { rows: new Map<ThreadId, Row>(), runs: new Map<RunId, RunRecord>() };
    const row = own.rows.get(threadId) ?? this.#newRow(threadId);
    if (messageDelta !== undefined) checkDelta(row, threadId, messageDelta);
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
    const record = toThreadRecord({ id: threadId }, this.#now());
    return { record, state: undefined, log: [], view: undefined, seqs: new Map(), runCount: 0 };
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

function toRecords(row: Row | undefined, entries: readonly SequencedMessage[] = []): readonly MessageRecord[] {
  if (row === undefined) return [];
  const { id: threadId, metadata } = row.record;
  return entries.map((entry) => ({ ...entry, threadId, createdAt: metadata.createdAt, schemaVersion: MESSAGE_SCHEMA_VERSION }));
}

/** Costs what was added since the last time. */
function effectiveOf(row: Row): readonly SequencedMessage[] {
  const { log, view } = row;
  if (view?.growing.append(log.slice(view.count))) {
    view.count = log.length;
    return view.growing.messages;
  }
  const growing = new GrowingView(log.slice(foldedUpTo(log.map(({ message }) => message))));
  row.view = { growing, count: log.length };
  return growing.messages;
}

/** Nobody but the runtime writes here, so only messages are looked at: those are what callers, tools and models said. */
function checkDelta(row: Row, threadId: ThreadId, { messages, expectedMessageCount: expected }: MessageDelta): void {
  const actual = row.log.length;
  if (actual !== expected) {
    throw new AwakenError("message_version_conflict", `thread '${threadId}' has ${actual} messages, not ${expected}`, {
      details: { threadId, expected, actual },
    });
  }
  checkMessageDelta(messages, { nextSeq: expected + 1 });
  const known = messages.find((message) => row.seqs.has(message.id));
  if (known === undefined) return;
  throw new AwakenError("storage_validation", `message '${known.id}' is in the log of thread '${threadId}' already`, {
    details: { threadId, messageId: known.id },
  });
}
