import {
  AwakenError,
  type JsonObject,
  type MessageId,
  NATURAL_END,
  type RunActivation,
  type RunIdentity,
  type RunRecord,
} from "@awaken/contract";
import {
  answerOf,
  type Boundary,
  type CommitResult,
  type DispatchResult,
  DONE_NATURALLY,
  MAX_COMMIT_ATTEMPTS,
  type PendingRecord,
  sameJson,
  type ThreadCommit,
} from "@awaken/contract/store";
import { composedCommit } from "@awaken/contract/writer";
import type { Clock } from "../stream/clock.ts";
import type { Late } from "../stream/door.ts";
import { type CommitPorts, type CommitStore, inTransaction } from "./commit-store.ts";
import { type Addition, compose, composeAddition, type Draft, type News, type RunBasis, type Standing, withTriggers } from "./compose.ts";
import type { Holding } from "./holding.ts";
import { rowsAfter } from "./rows-after.ts";
import { takenUp } from "./taken-up.ts";

export interface LandingInit {
  readonly store: CommitStore;
  readonly identity: RunIdentity;
  /** Of a new run: one that goes on has its own on record. */
  readonly principal?: JsonObject | undefined;
  readonly activation: RunActivation;
  /** Ids of the messages that the run answers. */
  readonly input: readonly MessageId[];
  /** The stored run, when it goes on. */
  readonly resumed: RunRecord | undefined;
  /** The id of the thread was made for the run, and nobody has looked whether there is one. */
  readonly isNewThread?: boolean;
  /** Rows in the log when the thread was read. */
  readonly messageCount: number;
  /** When the latest run of the thread changed last, by whatever clock; 0 without one. */
  readonly latestAt: number;
  readonly clock: Pick<Clock, "now">;
  /** Undefined: nobody holds the thread by a dispatch. */
  readonly holding?: Holding | undefined;
}

/** A commit that is on record. */
export interface Landed {
  readonly commit: ThreadCommit;
  /** Rows in the log before it. */
  readonly rowsBefore: number;
}

/** Whether a commit follows from what was read of the thread, or is true whatever is there. */
type Stands = "as-read" | "anyhow";

const NOTHING: readonly never[] = Object.freeze([]);

/** A clock is the code of others, and no record is looked at again. */
function wholeMs(now: number): number {
  if (Number.isSafeInteger(now) && now >= 0) return now;
  throw new AwakenError("storage_validation", `the clock must tell whole milliseconds, not ${now}`);
}

const basisOf = ({ identity, principal, activation, resumed, clock }: LandingInit): RunBasis => {
  const at = wholeMs(clock.now());
  const startedAt = (resumed?.status === "created" ? undefined : resumed?.startedAt) ?? at;
  const behalf = resumed === undefined ? principal : resumed.principal;
  return { identity, principal: behalf, activation, createdAt: resumed?.createdAt ?? at, startedAt };
};

/** `at`: later than what other runs of the thread wrote, else the thread would take this one for an old one when clocks differ. */
const standingOf = ({ resumed, input, messageCount, latestAt }: LandingInit): Standing => ({
  count: messageCount,
  isResumed: resumed !== undefined && resumed.status !== "created",
  input: resumed === undefined ? { triggerMessageIds: input, selectedMessageIds: NOTHING } : withTriggers(resumed.input, input),
  output: resumed?.output,
  at: Math.max(resumed?.updatedAt ?? 0, latestAt),
});

function resultOf({ run }: ThreadCommit, { ending }: News): DispatchResult | undefined {
  if (ending === undefined || run === undefined) return undefined;
  if (run.status === "done") {
    const { termination } = run.outcome;
    return termination === NATURAL_END ? DONE_NATURALLY : { type: "done", termination };
  }
  return { type: "waiting", termination: ending };
}

/**
 * Brings what is new in a run onto its thread: the one way to the store. One at a time; whoever calls it waits for the one before. What
 * somebody else appended meanwhile stays before it, and an answer that was lost is looked up.
 */
export class Landing {
  readonly #store: LandingInit["store"];
  readonly #clock: LandingInit["clock"];
  readonly #resumed: LandingInit["resumed"];
  readonly #isNewThread: boolean;
  readonly #holding: LandingInit["holding"];
  readonly #basis: RunBasis;
  #standing: Standing;
  /** Nothing of this activation is on record yet. */
  #isFirst = true;

  constructor(init: LandingInit) {
    this.#store = init.store;
    this.#clock = init.clock;
    this.#resumed = init.resumed;
    this.#isNewThread = init.isNewThread === true;
    this.#holding = init.holding;
    this.#basis = basisOf(init);
    this.#standing = standingOf(init);
  }

  /** Whether messages may wait in the queue of the thread. */
  get hasMail(): boolean {
    return this.#holding?.hasMail === true;
  }

  /** `updatedAt` of the record as this activation knows it: whoever has taken the run over has written a later one. */
  get writtenAt(): number {
    return this.#standing.at;
  }

  /** Whether the thread is held by a dispatch: what comes to it finds the run in the queue. */
  get isHeld(): boolean {
    return this.#holding !== undefined;
  }

  /** Messages may wait there that nobody spoke of. */
  lookAgain(): void {
    this.#holding?.mail?.();
  }

  /** Looks whether this process still has the thread: the signal of the run is aborted if not. Undefined: for sure. */
  assure(): Promise<void> | undefined {
    return this.#holding?.assure?.();
  }

  /** What others want of the run is being read, by whoever holds its thread. */
  get looking(): Promise<void> | undefined {
    return this.#holding?.looking;
  }

  /** Decisions that were kept are not followed. */
  refuse(decisions: readonly string[]): void {
    this.#holding?.refuse?.(decisions);
  }

  async waiting(at: Boundary): Promise<readonly PendingRecord[]> {
    return this.#holding === undefined ? NOTHING : this.#holding.waiting(at);
  }

  /** At once when the store answers at once; what is wrong with the commit itself is thrown. */
  land(news: News): Late<Landed> {
    return this.#land("as-read", () => {
      // Each record is later than the one before, so that no two are the same and a lost answer can be looked up.
      const at = Math.max(wholeMs(this.#clock.now()), this.#standing.at + 1);
      const commit = compose(this.#basis, { ...this.#standing, at }, news);
      if (this.#isFirst && this.#resumed === undefined) {
        commit.isNewRun = true;
        if (this.#isNewThread) commit.isNewThread = true;
      }
      return this.#withRiders(commit, resultOf(commit, news));
    });
  }

  /** The same for what no news of the run is going to bring. */
  async append(addition: Addition): Promise<void> {
    await this.#land("anyhow", () => this.#withRiders(composeAddition(this.#basis.identity, this.#standing, addition), undefined));
  }

  #withRiders(commit: Draft, result: DispatchResult | undefined): ThreadCommit {
    const holding = this.#holding;
    if (holding === undefined) return composedCommit(commit);
    const { runId, run, events = NOTHING } = commit;
    const departure = { runId, run, events, isFirst: this.#isFirst, result };
    const { fence, dispatch, pending, takes, outbound } = holding.riders(departure);
    if (fence !== undefined) commit.fence = fence;
    if (dispatch !== undefined) commit.dispatch = dispatch;
    if (pending !== undefined) commit.pending = { ...pending, ...commit.pending };
    if (takes !== undefined) commit.takes = takes;
    if (outbound !== undefined) commit.outbound = outbound;
    return composedCommit(commit);
  }

  #land(stands: Stands, next: () => ThreadCommit): Late<Landed> {
    const sent = next();
    const asked = this.#ask(sent);
    const result = answerOf(asked);
    return result === undefined ? this.#landLater(stands, next, sent, asked) : this.#landed(sent, result);
  }

  async #landLater(stands: Stands, next: () => ThreadCommit, first: ThreadCommit, asked: Promise<CommitResult>): Promise<Landed> {
    let unsure: readonly ThreadCommit[] = NOTHING;
    let [sent, answer] = [first, asked];
    for (let attempt = 1; ; attempt++) {
      let commit: ThreadCommit | undefined = sent;
      let result: CommitResult | undefined;
      try {
        result = await answer;
      } catch (thrown) {
        if (AwakenError.is(thrown) && thrown.code === "commit_unknown") unsure = [...unsure, sent];
        commit = await this.#landedAfterAll(unsure);
        if (commit === undefined) await this.#goBehind(stands, thrown, attempt);
      }
      if (commit !== undefined) return this.#landed(commit, result);
      sent = next();
      answer = this.#ask(sent);
    }
  }

  #landed(commit: ThreadCommit, result: CommitResult | undefined): Late<Landed> {
    const landed = { commit, rowsBefore: commit.messageDelta?.expectedMessageCount ?? this.#standing.count };
    this.#note(commit, result);
    const told = this.#holding?.landed(commit, result);
    return told === undefined ? landed : told.then(() => landed);
  }

  /** A store of others may throw where it should reject. */
  #ask(commit: ThreadCommit): Promise<CommitResult> {
    try {
      return this.#send(commit);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  #note({ run, messageDelta }: ThreadCommit, result: CommitResult | undefined): void {
    const before = this.#standing;
    const { messages = NOTHING, expectedMessageCount = before.count } = messageDelta ?? {};
    const count = result?.messageCount ?? expectedMessageCount + messages.length;
    if (run === undefined) {
      this.#standing = { ...before, count };
      return;
    }
    this.#isFirst = false;
    this.#standing = { count, isResumed: true, input: run.input, output: run.output, at: run.updatedAt };
  }

  /**
   * The next try is on the count that is known now. Throws when there is no use in one: behind a rewind the run would go on with what is
   * gone; and one that has not begun, on a thread that there is in spite of its new id, or that somebody had since it was read, without
   * having read it.
   */
  async #goBehind(stands: Stands, thrown: unknown, attempt: number): Promise<void> {
    if (attempt === MAX_COMMIT_ATTEMPTS || !AwakenError.is(thrown)) throw thrown;
    const { actual } = thrown.details;
    if (thrown.code === "message_version_conflict" && typeof actual === "number") {
      const isUnread = this.#isFirst && (this.#holding ?? this.#isNewThread);
      if (stands === "as-read" && (isUnread || (await this.#isRewound()))) throw thrown;
      this.#standing = { ...this.#standing, count: actual };
    } else if (thrown.code !== "commit_unknown") throw thrown;
  }

  /** Whether somebody has taken rows out that the run has read. */
  async #isRewound(): Promise<boolean> {
    const { count } = this.#standing;
    const later = await rowsAfter(this.#store.messages, this.#basis.identity.threadId, count);
    return later.some(({ message }) => message.role !== "tool" && (message.metadata?.rewind?.fromSeq ?? count + 1) <= count);
  }

  /** One whose answer was lost may come to be on record long after: whatever is the matter with a later try, it may be that. */
  async #landedAfterAll(unsure: readonly ThreadCommit[]): Promise<ThreadCommit | undefined> {
    for (const commit of unsure) if (await this.#isOnRecord(commit)) return commit;
    return undefined;
  }

  #send(commit: ThreadCommit): Promise<CommitResult> {
    const store = this.#store;
    const resumed = this.#resumed;
    if (!this.#isFirst) return store.commit(commit);
    const write = (ports: CommitPorts) => this.#takeUp(ports, commit);
    const written = this.#holding?.first?.(commit, write);
    if (written !== undefined) return written;
    if (resumed === undefined) return store.commit(commit);
    return commit.fence === undefined ? inTransaction(store, write) : this.#commitHeld(resumed, commit);
  }

  /**
   * Whoever shows a fence had the thread before the record was read: since then others can have ended a run that had not begun, which the
   * store refuses to let go on, and written nothing else of it.
   */
  async #commitHeld(resumed: RunRecord, commit: ThreadCommit): Promise<CommitResult> {
    try {
      return await this.#store.commit(commit);
    } catch (thrown) {
      throw AwakenError.is(thrown) && thrown.code === "illegal_transition" ? takenUp(resumed) : thrown;
    }
  }

  /** A run goes on once: whoever comes second finds another record than the one that it read, and changes nothing. */
  async #takeUp({ runs, commit: write }: CommitPorts, commit: ThreadCommit): Promise<CommitResult> {
    const resumed = this.#resumed;
    if (resumed === undefined || sameJson(await runs.load(resumed.runId), resumed)) return write(commit);
    throw takenUp(resumed);
  }

  /** By what no other commit has: its messages, which are never in a log twice, else its record, which is later than all before. */
  async #isOnRecord({ threadId, runId, run, messageDelta }: ThreadCommit): Promise<boolean> {
    const store = this.#store;
    const [own] = messageDelta?.messages ?? NOTHING;
    if (own !== undefined) return (await store.messages.load(threadId, [own.id])).length > 0;
    const stored = await store.runs.load(runId);
    return run !== undefined && sameJson(stored, { ...run, ordinal: stored?.ordinal });
  }
}
