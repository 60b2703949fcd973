import { errorMessage, type Log, Roster, type Seated } from "@awaken/contract";
import type { Fence } from "@awaken/contract/store";
import type { Clock } from "../stream/clock.ts";
import { sleep } from "../stream/sleep.ts";
import type { Ask, TenantQueue } from "./tenant-queue.ts";

/** A claim that this process keeps alive. */
export interface Lease extends Seated {
  /** When it was known to hold last. Written here alone. */
  heldAt: number;
  readonly tenant: TenantQueue;
  readonly fence: Fence;
  /** Somebody else has the thread: nothing of the run can be written any more. */
  lost(why: string): void;
  /** Somebody wants something of the run. */
  wanted(): void;
}

export interface LeasesInit {
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly ask: Ask;
}

/** After a renewal that failed: a tenth of the lease, so that several tries fit into what is left of it. */
const RETRIES = 10;

/** A store that takes longer than half a lease for so many answers cannot keep one. */
const MAX_REFRESHES = 3;

/** What was claimed or renewed less than this part of the lease ago is left for the next time: most runs are over by then. */
const FRESH = 6;

/**
 * Renews what this process holds, every third of a lease. One timer for all: it is not taken back when a run ends, because the next one
 * would set it again, and it goes off without a sequel when nothing is held by then.
 */
export class Leases {
  readonly #init: LeasesInit;
  readonly #held = new Roster<Lease>();
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(init: LeasesInit) {
    this.#init = init;
  }

  get size(): number {
    return this.#held.size;
  }

  /** `since`: when it was asked for. The store may have counted from then on, however late its answer came. */
  add(lease: Lease, since: number): void {
    lease.heldAt = since;
    this.#held.add(lease);
    if (this.#stopTimer === undefined) this.#sleep(this.#init.leaseMs / 3);
  }

  remove(lease: Lease): void {
    this.#held.remove(lease);
    // A timer that keeps the process alive would do so for nothing.
    if (this.#isClosed || this.#init.clock.idleTimer === undefined) this.#rest();
  }

  /** No more runs begin here. */
  close(): void {
    this.#isClosed = true;
    this.#rest();
  }

  #rest(): void {
    if (this.#held.size > 0) return;
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /**
   * A process that stood still does not know what others did meanwhile: a lease that should have been renewed by now is renewed before
   * anything else is done, and lost when that fails, so that what is begun now has half of a lease at least. Never rejects.
   */
  assure(lease: Lease): Promise<void> | undefined {
    return this.#isOld(lease) ? this.#refresh(lease) : undefined;
  }

  #isOld(lease: Lease): boolean {
    return this.#held.has(lease) && this.#since(lease.heldAt) > this.#init.leaseMs / 2;
  }

  /** A clock that was set back does not say how long: then it may be any time. */
  #since(at: number): number {
    const ms = this.#init.clock.now() - at;
    return ms < 0 ? Number.POSITIVE_INFINITY : ms;
  }

  /** The answer may be as late as the one before. While the store refuses, it is tried again until the lease is over. */
  async #refresh(lease: Lease): Promise<void> {
    const { clock, leaseMs } = this.#init;
    for (let late = 0; this.#isOld(lease); ) {
      if (!(await this.#renew(lease))) await sleep(clock, leaseMs / RETRIES);
      else if (++late === MAX_REFRESHES && this.#isOld(lease)) this.#lose(lease, "its lease could not be renewed in time");
    }
  }

  /** Renews it now, whatever its age. False when the store does not say whether it holds. Never rejects. */
  async check(lease: Lease): Promise<boolean> {
    return !this.#held.has(lease) || this.#renew(lease);
  }

  all(): readonly Lease[] {
    return this.#held.all();
  }

  #sleep(ms: number): void {
    const { clock } = this.#init;
    const fire = () => void this.#renewAll();
    // A run keeps its process alive by itself, if it is at work.
    this.#stopTimer = clock.idleTimer?.(ms, fire) ?? clock.timer(ms, fire);
  }

  async #renewAll(): Promise<void> {
    const { leaseMs } = this.#init;
    const due = this.#held.all().filter(({ heldAt }) => this.#since(heldAt) >= leaseMs / FRESH);
    const renewed = await Promise.all(due.map((lease) => this.#renew(lease)));
    if (this.#held.size === 0) this.#stopTimer = undefined;
    else this.#sleep(renewed.includes(false) ? leaseMs / RETRIES : leaseMs / 3);
  }

  /** False: it has to be tried again soon. */
  async #renew(lease: Lease): Promise<boolean> {
    const { leaseMs, clock, log, ask } = this.#init;
    const startedAt = clock.now();
    try {
      const renewal = await ask("renew a lease", lease.tenant.dispatches.extendLease(lease.fence, leaseMs));
      if (!this.#held.has(lease)) return true;
      if (renewal === undefined) this.#lose(lease, "its lease was lost");
      else {
        lease.heldAt = startedAt;
        if (renewal.hasWishes) lease.wanted();
      }
      return true;
    } catch (thrown) {
      if (!this.#held.has(lease)) return true;
      log.warn(`a lease could not be renewed: ${errorMessage(thrown)}`, { dispatchId: lease.fence.dispatchId });
      if (clock.now() - lease.heldAt > leaseMs) this.#lose(lease, "its lease could not be renewed in time");
      return false;
    }
  }

  #lose(lease: Lease, why: string): void {
    this.remove(lease);
    this.#init.log.warn(`a run is left to whoever takes it over: ${why}`, { dispatchId: lease.fence.dispatchId });
    lease.lost(why);
  }
}
