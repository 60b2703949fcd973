import {
  AwakenError,
  type Message,
  type MessageId,
  NO_USAGE,
  RUN_SCHEMA_VERSION,
  type RunActivation,
  type RunIdentity,
  type RunInput,
  type RunProjection,
  type RunRecord,
  type Termination,
} from "@awaken/contract";
import { type CommitResult, type EventAppend, MAX_COMMIT_ATTEMPTS, sameJson, type ThreadCommit } from "@awaken/contract/store";
import { canonicalEvent, messageCommitted } from "../commit/canonical-events.ts";
import { type CommitStore, inTransaction } from "../commit/commit-store.ts";
import { takenUp } from "../commit/taken-up.ts";
import type { Checkpoint, CheckpointPort } from "./commit.ts";

export interface ThreadWriterInit {
  readonly store: CommitStore;
  readonly identity: RunIdentity;
  readonly activation: RunActivation;
  /** Ids of the messages that the run answers. */
  readonly input: readonly MessageId[];
  /** The stored run, when it goes on. */
  readonly resumed: RunRecord | undefined;
  /** Rows in the log when the thread was read. */
  readonly messageCount: number;
  /** When the latest run of the thread changed last, by whatever clock; 0 without one. */
  readonly latestAt: number;
  readonly now: () => number;
}

interface FailedTry {
  readonly commit: ThreadCommit;
  readonly thrown: unknown;
}

interface Landed {
  readonly commit: ThreadCommit;
  /** Rows in the log before it. */
  readonly rowsBefore: number;
}

/** While it is put together. */
type Writable<T> = { -readonly [Key in keyof T]: T[Key] };

type Body = Omit<Extract<RunProjection, { status: "created" }>, "status">;

/** Turns a run's checkpoints into commits of its thread: the one durable write. */
export class ThreadWriter implements CheckpointPort {
  readonly #init: ThreadWriterInit;
  readonly #createdAt: number;
  readonly #startedAt: number;
  readonly #input: RunInput;
  #count: number;
  /** Nothing of this activation is written yet. */
  #isFirst = true;
  #isResumed: boolean;
  #output: Body["output"];
  /**
   * Of the last record: the next one is later, so that no two are the same and a lost answer can be looked up. It is also later than what
   * other runs of the thread wrote, else the thread would take this one for an old one when clocks differ.
   */
  #updatedAt: number;

  constructor(init: ThreadWriterInit) {
    const { resumed } = init;
    const now = init.now();
    this.#init = init;
    this.#count = init.messageCount;
    this.#createdAt = resumed?.createdAt ?? now;
    this.#startedAt = (resumed?.status === "created" ? undefined : resumed?.startedAt) ?? now;
    this.#input = inputOf(init);
    this.#isResumed = resumed !== undefined && resumed.status !== "created";
    this.#output = resumed?.output;
    this.#updatedAt = Math.max(resumed?.updatedAt ?? 0, init.latestAt);
  }

  write(checkpoint: Checkpoint): Promise<Landed> {
    const rowsBefore = this.#count;
    const commit = this.#compose(checkpoint, rowsBefore);
    return this.#send(commit).then(
      ({ messageCount }) => {
        this.#count = messageCount;
        return this.#note({ commit, rowsBefore });
      },
      async (thrown: unknown) => this.#note(await this.#land((count) => this.#compose(checkpoint, count), { commit, thrown })),
    );
  }

  #note(landed: Landed): Landed {
    const { run } = landed.commit;
    this.#isFirst = false;
    this.#isResumed = true;
    this.#output = run?.output;
    this.#updatedAt = run?.updatedAt ?? this.#updatedAt;
    return landed;
  }

  /** Puts messages into the log that no checkpoint is going to carry. */
  async append(messages: readonly Message[]): Promise<void> {
    const { threadId, runId } = this.#init.identity;
    await this.#land(
      (count) => ({
        threadId,
        runId,
        messageDelta: { messages, expectedMessageCount: count },
        events: messages.map((message, index) => messageCommitted(this.#init.identity, message, count + 1 + index)),
      }),
      undefined,
    );
  }

  /** Somebody else may have appended meanwhile: then the same messages go behind theirs. An answer that was lost is looked up first. */
  async #land(compose: (count: number) => ThreadCommit, first: FailedTry | undefined): Promise<Landed> {
    let failed = first;
    for (let attempt = first === undefined ? 1 : 2; ; attempt++) {
      if (failed !== undefined && (await this.#hasLandedAfterAll(failed, attempt))) {
        const rowsBefore = this.#count;
        this.#count += failed.commit.messageDelta?.messages.length ?? 0;
        return { commit: failed.commit, rowsBefore };
      }
      const rowsBefore = this.#count;
      const commit = compose(rowsBefore);
      try {
        this.#count = (await this.#send(commit)).messageCount;
        return { commit, rowsBefore };
      } catch (thrown) {
        failed = { commit, thrown };
      }
    }
  }

  /** False: it has to be tried again, on the count that is known now. Throws when there is no use in that. */
  async #hasLandedAfterAll({ commit, thrown }: FailedTry, nextAttempt: number): Promise<boolean> {
    if (nextAttempt > MAX_COMMIT_ATTEMPTS || !AwakenError.is(thrown)) throw thrown;
    const { actual } = thrown.details;
    if (thrown.code === "message_version_conflict" && typeof actual === "number") {
      this.#count = actual;
      return false;
    }
    if (thrown.code !== "commit_unknown") throw thrown;
    return this.#hasLanded(commit);
  }

  async #send(commit: ThreadCommit): Promise<CommitResult> {
    const { store, resumed } = this.#init;
    return this.#isFirst && resumed !== undefined ? this.#takeUp(resumed, commit) : store.commit(commit);
  }

  /** A run goes on once: whoever comes second finds another record than the one that it read, and changes nothing. */
  #takeUp(resumed: RunRecord, commit: ThreadCommit): Promise<CommitResult> {
    return inTransaction(this.#init.store, async ({ runs, commit: write }) => {
      if (sameJson(await runs.load(resumed.runId), resumed)) return write(commit);
      throw takenUp(resumed);
    });
  }

  async #hasLanded({ threadId, runId, run, messageDelta }: ThreadCommit): Promise<boolean> {
    const { store } = this.#init;
    const stored = await store.runs.load(runId);
    if (run !== undefined && !sameJson(stored, { ...run, ordinal: stored?.ordinal })) return false;
    if (messageDelta === undefined) return true;
    const { messages, expectedMessageCount } = messageDelta;
    return ((await store.threads.loadCheckpoint(threadId))?.messageCount ?? 0) >= expectedMessageCount + messages.length;
  }

  #compose(checkpoint: Checkpoint, count: number): ThreadCommit {
    const { identity, resumed } = this.#init;
    const { threadId, runId } = identity;
    const { claims, outcomes, threadState } = checkpoint;
    const messages = checkpoint.delta(count);
    const commit: Writable<ThreadCommit> = {
      threadId,
      runId,
      run: this.#project(checkpoint, messages),
      events: this.#events(checkpoint, messages),
    };
    if (messages.length > 0) commit.messageDelta = { messages, expectedMessageCount: count };
    if (claims.length + outcomes.length > 0) commit.ledger = { claims, outcomes };
    if (this.#isFirst && resumed === undefined) commit.isNewRun = true;
    if (Object.keys(threadState.extensions).length > 0) commit.threadState = threadState;
    return commit;
  }

  #events({ events }: Checkpoint, messages: readonly Message[]): readonly EventAppend[] {
    const { identity } = this.#init;
    let isResumed = this.#isResumed;
    const facts: EventAppend[] = [];
    for (const message of messages) facts.push(messageCommitted(identity, message, this.#count + 1 + facts.length));
    for (const event of events) {
      facts.push(canonicalEvent(identity, event, isResumed));
      if (event.type === "run-start") isResumed = true;
    }
    return facts;
  }

  /** From the first to the last row that the run wrote itself. */
  #outputRange(messages: readonly Message[]): Body["output"] {
    let first = this.#output?.fromSeq;
    let last: number | undefined;
    for (let index = 0; index < messages.length; index++) {
      const role = messages[index]?.role;
      if (role !== "assistant" && role !== "tool") continue;
      last = this.#count + 1 + index;
      first ??= last;
    }
    return last === undefined || first === undefined ? this.#output : { fromSeq: first, toSeq: last };
  }

  #project(checkpoint: Checkpoint, messages: readonly Message[]): RunProjection {
    const { identity, activation, now } = this.#init;
    const output = this.#outputRange(messages);
    const at = Math.max(now(), this.#updatedAt + 1);
    const body: Writable<Body> = {
      schemaVersion: RUN_SCHEMA_VERSION,
      runId: identity.runId,
      threadId: identity.threadId,
      agentId: identity.agentId,
      activation,
      input: this.#input,
      createdAt: this.#createdAt,
      updatedAt: at,
      steps: checkpoint.tally.steps,
      usage: checkpoint.tally.usage ?? NO_USAGE,
      state: checkpoint.runState,
      decided: checkpoint.decided.entries,
    };
    const { usageByModel, answerId } = checkpoint.tally;
    if (usageByModel.length > 0) body.usageByModel = usageByModel;
    if (answerId !== undefined) body.answerId = answerId;
    if (checkpoint.decided.closed !== undefined) body.closed = checkpoint.decided.closed;
    if (output !== undefined) body.output = output;
    if (identity.dispatchId !== undefined) body.dispatchId = identity.dispatchId;
    if (identity.sessionId !== undefined) body.sessionId = identity.sessionId;
    return withStatus(body, checkpoint, this.#startedAt, at);
  }
}

/** A run that goes on answers what it was asked first, and what came with its going on. */
function inputOf({ resumed, input }: ThreadWriterInit): RunInput {
  if (resumed === undefined) return { triggerMessageIds: input, selectedMessageIds: [] };
  const before = resumed.input;
  const added = input.filter((id) => !before.triggerMessageIds.includes(id));
  return { ...before, triggerMessageIds: [...before.triggerMessageIds, ...added] };
}

function withStatus(body: Body, { lifecycle, tickets, tally, ending }: Checkpoint, startedAt: number, at: number): RunProjection {
  switch (lifecycle.status) {
    case "created":
      return { ...body, status: "created" };
    case "running":
      return { ...body, status: "running", startedAt, ...(tickets.length === 0 ? undefined : { tickets }) };
    case "waiting":
      return { ...body, status: "waiting", startedAt, waiting: { reason: lifecycle.waitingReason ?? "suspended", tickets } };
    case "done":
      return {
        ...body,
        status: "done",
        startedAt,
        finishedAt: at,
        outcome: {
          termination: final(lifecycle.termination ?? ending),
          response: tally.response,
          ...(tally.output === undefined ? undefined : { output: tally.output.value }),
        },
      };
  }
}

function final(termination: Termination | undefined): Exclude<Termination, { type: "suspended" }> {
  if (termination === undefined || termination.type === "suspended") return { type: "error", message: "the run is done without a reason" };
  return termination;
}
