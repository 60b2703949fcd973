import {
  AwakenError,
  type JsonObject,
  type MessageId,
  NATURAL_END,
  type RunActivation,
  type RunIdentity,
  type RunRecord,
} from "@awaken/contract";
import { answerOf, type CommitResult, type DispatchResult, DONE_NATURALLY, type ThreadCommit } from "@awaken/contract/store";
import { composedCommit } from "@awaken/contract/writer";
import type { Clock } from "../stream/clock.ts";
import type { Late } from "../stream/door.ts";
import type { CommitPorts, CommitStore } from "./commit-store.ts";
import { type Addition, compose, composeAddition, type Draft, type News, type RunBasis, type Standing, withTriggers } from "./compose.ts";
import type { Holding } from "./holding.ts";
import type { Unlanded } from "./land-again.ts";
import { seldom } from "./seldom-door.ts";

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

  /** Undefined: nobody holds the thread by a dispatch. */
  get holding(): Holding | undefined {
    return this.#holding;
  }

  /** `updatedAt` of the record as this activation knows it: whoever has taken the run over has written a later one. */
  get writtenAt(): number {
    return this.#standing.at;
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

  #land(stands: Unlanded["stands"], next: () => ThreadCommit): Late<Landed> {
    const sent = next();
    const asked = this.#ask(sent);
    const result = answerOf(asked);
    return result === undefined ? this.#landLater(stands, next, sent, asked) : this.#landed(sent, result);
  }

  async #landLater(
    stands: Unlanded["stands"],
    next: () => ThreadCommit,
    first: ThreadCommit,
    asked: Promise<CommitResult>,
  ): Promise<Landed> {
    let unsure: readonly ThreadCommit[] = NOTHING;
    let [sent, answer] = [first, asked];
    for (let attempt = 1; ; attempt++) {
      let found: ThreadCommit | number = sent;
      let result: CommitResult | undefined;
      try {
        result = await answer;
      } catch (thrown) {
        if (AwakenError.is(thrown) && thrown.code === "commit_unknown") unsure = [...unsure, sent];
        const { landAgain } = await seldom.open();
        const { count } = this.#standing;
        const isUnread = stands === "as-read" && this.#isFirst && (this.#holding ?? this.#isNewThread);
        found = await landAgain(this.#store, unsure, { sent, thrown, attempt, count, stands: isUnread ? "unread" : stands });
      }
      if (typeof found !== "number") return this.#landed(found, result);
      this.#standing = { ...this.#standing, count: found };
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

  #send(commit: ThreadCommit): Promise<CommitResult> {
    const store = this.#store;
    // Whoever read its record has loaded what takes it up.
    const resumed = this.#resumed;
    if (!this.#isFirst) return store.commit(commit);
    const write = (ports: CommitPorts) => (resumed === undefined ? ports.commit(commit) : seldom.here.takeUpOnce(ports, resumed, commit));
    const written = this.#holding?.first?.(commit, write);
    if (written !== undefined) return written;
    if (resumed === undefined) return store.commit(commit);
    return seldom.here.commitTakenUp(store, resumed, commit);
  }
}
