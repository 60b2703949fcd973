import { type Message, type RunId, type RunProjection, type RunRecord, runId, type Ticket, threadId } from "@awaken/contract";
import { effectiveMessages, type SequencedMessage, type ThreadCommit } from "@awaken/contract/store";
import type { CommitPorts, CommitStore } from "../commit/commit-store.ts";
import { MemoryThreads } from "../commit/memory-threads.ts";
import type { ThreadHistory } from "../loop/activation.ts";

const THREAD = threadId("thread");

/** One thread in memory, for tests of the loop alone: what a run commits is what the next one finds. */
export class ThreadLog implements CommitStore {
  readonly rows: SequencedMessage[] = [];
  /** What was committed, in order. */
  readonly commits: ThreadCommit[] = [];
  readonly #memory = new MemoryThreads(() => 0);
  readonly #runs = new Map<RunId, RunRecord>();

  readonly runs: CommitStore["runs"] = { load: (id) => this.#memory.runs.load(id) };
  readonly messages: CommitStore["messages"] = {
    load: (thread, ids) => this.#memory.messages.load(thread, ids),
    list: (thread, query) => this.#memory.messages.list(thread, query),
  };

  /** What the log says, in order. */
  get said(): readonly Message[] {
    return this.rows.map((row) => row.message);
  }

  /** The run that was written last, as it was. */
  get run(): RunProjection | undefined {
    return this.commits.findLast((commit) => commit.run !== undefined)?.run;
  }

  /** Its open tickets. */
  get tickets(): readonly Ticket[] {
    const { run } = this;
    if (run?.status === "waiting") return run.waiting.tickets;
    return run?.status === "running" ? (run.tickets ?? []) : [];
  }

  /** A later process sees JSON, so this one does too. */
  readonly commit: CommitStore["commit"] = async (given) => {
    const commit = structuredClone(given);
    const result = await this.#memory.commit(commit);
    for (const message of commit.messageDelta?.messages ?? []) this.rows.push({ seq: this.rows.length + 1, message });
    if (result.run !== undefined) this.#runs.set(result.run.runId, result.run);
    this.commits.push(commit);
    return result;
  };

  transaction<T>(work: (ports: CommitPorts) => Promise<T>): Promise<T> {
    return work(this);
  }

  /** Puts a message into the log, as somebody else would. */
  async append(message: Message): Promise<void> {
    const messageDelta = { messages: [message], expectedMessageCount: this.rows.length };
    await this.commit({ threadId: THREAD, runId: runId("somebody"), messageDelta });
  }

  /** The record of a run. */
  record(id: RunId): RunRecord | undefined {
    return this.#runs.get(id);
  }

  /** As the next activation reads it; with the run's own state when that run goes on. */
  history(resumed?: RunId): ThreadHistory {
    const run = resumed === undefined ? undefined : this.#runs.get(resumed);
    return {
      messages: effectiveMessages(this.rows),
      messageCount: this.rows.length,
      threadState: this.#memory.stateOf(THREAD),
      run: run === undefined ? undefined : { state: run.state, counted: countedBy(run) },
      cutCalls: [],
      ledger: undefined,
    };
  }
}

function countedBy({ steps, usage, usageByModel = [], answerId }: RunRecord): NonNullable<ThreadHistory["run"]>["counted"] {
  if (answerId === undefined) throw new TypeError("a run of today has the id of its answer");
  return { steps, usage, usageByModel, answerId };
}
