import { type AwakenError, errorMessage, type Log, type RunProjection } from "@awaken/contract";
import type { Fence, WishRecord } from "@awaken/contract/store";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import { keepForStep } from "../loop/decisions/keep-for-step.ts";
import { isKnown, isUnderWay, takeDecisions } from "../loop/decisions/take-decisions.ts";
import type { ActiveRun } from "../run/active-runs.ts";
import { isRefusal } from "./refusals.ts";
import type { Ask, TenantQueue } from "./tenant-queue.ts";

/** Who has the thread of the run. */
interface Holder {
  readonly tenant: TenantQueue;
  readonly fence: Fence;
  readonly isHeld: boolean;
  readonly isSettled: boolean;
}

export interface OpenWishesInit {
  readonly holder: Holder;
  readonly ask: Ask;
  readonly log: Log;
}

interface Noted {
  readonly wish: WishRecord;
  isRefused: boolean;
}

type DecisionWish = Extract<WishRecord, { type: "decision" }>;

const NOTHING: readonly never[] = Object.freeze([]);

/** What a decision is about: a ticket, or a call that did not wait when it was made. */
export const toAddressed = ({ ticketId, decision }: DecisionWish): AddressedDecision => ({ target: ticketId, decision, isCall: true });

/** Decisions that were made together, the oldest first. */
export function batchesOf(wishes: readonly WishRecord[]): readonly (readonly DecisionWish[])[] {
  const batches = new Map<string, DecisionWish[]>();
  for (const wish of wishes) {
    if (wish.type === "cancel") continue;
    const id = wish.batchId ?? wish.wishId;
    batches.set(id, [...(batches.get(id) ?? []), wish]);
  }
  return [...batches.values()];
}

/** What others want of a run, as far as its owner has read it: noted until a commit has taken it. */
export class OpenWishes {
  readonly #init: OpenWishesInit;
  /** By id; most runs need none. */
  #noted: Map<string, Noted> | undefined;
  /** Taken while a list was on its way, which may still have them. */
  #takenMeanwhile: Set<string> | undefined;
  #reading: Promise<void> | undefined;
  #isAskedAgain = false;

  /** `found`: those that the run is taken up with. */
  constructor(init: OpenWishesInit, found: readonly WishRecord[]) {
    this.#init = init;
    for (const wish of found) this.#note(wish);
  }

  /** They are being read, and followed. Never rejects. */
  get reading(): Promise<void> | undefined {
    return this.#reading;
  }

  /** There may be some that nobody noted. Never rejects, and waits for nothing. */
  look(run: ActiveRun): void {
    this.#isAskedAgain = true;
    this.#reading ??= this.#read(run).finally(() => {
      this.#reading = undefined;
    });
  }

  landed(takes: readonly string[]): void {
    for (const id of takes) {
      this.#noted?.delete(id);
      this.#takenMeanwhile?.add(id);
    }
  }

  /** A decision is followed when the record has it, a cancel when the run is done. */
  takes(run: RunProjection | undefined): readonly string[] {
    if (this.#noted === undefined || run === undefined) return NOTHING;
    return [...this.#noted.values()].flatMap(({ wish, isRefused }) => {
      if (isRefused) return [wish.wishId];
      const isFollowed = wish.type === "cancel" ? run.status === "done" : run.decided.some(({ decisionId }) => decisionId === wish.wishId);
      return isFollowed ? [wish.wishId] : [];
    });
  }

  /** The run had kept them, and does not follow them. */
  refuse(decisions: readonly string[]): void {
    for (const id of decisions) {
      const noted = this.#noted?.get(id);
      if (noted !== undefined) noted.isRefused = true;
    }
  }

  #note(wish: WishRecord): Noted {
    const noted = { wish, isRefused: false };
    this.#noted ??= new Map();
    this.#noted.set(wish.wishId, noted);
    return noted;
  }

  #forget(wishes: readonly WishRecord[]): void {
    for (const { wishId } of wishes) this.#noted?.delete(wishId);
  }

  async #read(run: ActiveRun): Promise<void> {
    const { holder, ask, log } = this.#init;
    while (this.#isAskedAgain && !holder.isSettled) {
      this.#isAskedAgain = false;
      const taken = new Set<string>();
      this.#takenMeanwhile = taken;
      try {
        const open = await ask("list wishes", holder.tenant.wishes.listOpen(run.runId));
        const fresh = open.filter(({ wishId }) => this.#noted?.has(wishId) !== true && !taken.has(wishId));
        for (const wish of fresh) {
          if (wish.type !== "cancel") continue;
          this.#note(wish);
          run.cancel(wish.reason);
        }
        for (const batch of batchesOf(fresh)) await this.#follow(run, batch);
      } catch (thrown) {
        log.warn(`wishes could not be followed: ${errorMessage(thrown)}`, { runId: run.runId });
      }
    }
    this.#takenMeanwhile = undefined;
  }

  async #follow(run: ActiveRun, wishes: readonly DecisionWish[]): Promise<void> {
    const noted = wishes.map((wish) => this.#note(wish));
    await run.prepared;
    const { ctx } = run;
    const batch = wishes.map(toAddressed);
    if (ctx !== undefined && batch.some((addressed) => !isKnown(ctx, addressed) || isUnderWay(ctx, addressed))) {
      // The run looks at them where it stops. One that leaves without them: whoever goes on with it finds them.
      if (!keepForStep(ctx, batch)) this.#forget(wishes);
      return;
    }
    try {
      const isTaken = ctx !== undefined && (await takeDecisions(ctx, batch));
      if (!isTaken) this.#forget(wishes);
    } catch (thrown) {
      if (!isRefusal(thrown)) {
        this.#forget(wishes);
        throw thrown;
      }
      await this.#refuseNow(run, noted, thrown);
    }
  }

  /** Whoever decided may do so again, and need not wait for the next step. What cannot be written now goes with the next commit of the run. */
  async #refuseNow({ threadId, runId }: ActiveRun, noted: readonly Noted[], { message, code }: AwakenError): Promise<void> {
    const { holder, ask, log } = this.#init;
    const takes = noted.map(({ wish }) => wish.wishId);
    log.warn(`a decision was refused: ${message}`, { runId, code, decisionId: takes.join(", ") });
    try {
      if (holder.isHeld) {
        await ask("refuse a decision", holder.tenant.commit({ threadId, runId, takes, fence: holder.fence }));
        this.landed(takes);
        return;
      }
    } catch (thrown) {
      log.warn(`a decision is refused later: ${errorMessage(thrown)}`, { runId });
    }
    for (const each of noted) each.isRefused = true;
  }
}
