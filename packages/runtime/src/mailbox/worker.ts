import { errorMessage, type Log, type ScopeId } from "@awaken/contract";
import type { Claim, ClaimRequest, DispatchQueue, ScopedThread } from "@awaken/contract/store";
import type { Clock } from "../stream/clock.ts";
import { judgeFailure, LEFT_TO_OTHERS_MS, UNKNOWN_AGENT_DELAY_MS } from "./attempts.ts";
import type { Fate } from "./executor.ts";
import type { NodeIdentity } from "./node.ts";
import type { Ask, TenantQueue } from "./tenant-queue.ts";

interface Beginning {
  /** Resolves when it has begun, or is gone; never rejects. */
  readonly recorded: Promise<void>;
}

export interface WorkerInit {
  readonly queue: DispatchQueue;
  tenantOf(scopeId: ScopeId): TenantQueue;
  /** `askedAt`: when it was asked for, by this process' clock. The lease is at most as old as that. Never rejects. */
  execute(scopeId: ScopeId, claimed: Claim, askedAt: number): Promise<Fate>;
  /** After each look. Never throws, and waits for nothing. */
  onLook(): void;
  /** Takes claims back whose leases are over, and those of processes that are gone. */
  takeBack(gone: readonly string[]): Promise<void>;
  /** Gives back what this process has claimed on a thread, and no run of it knows of. False: not now, a run of it is there. */
  giveBack(thread: ScopedThread): Promise<boolean>;
  /** A run of this process that is about to begin on the thread: what is queued there came later. */
  beginning(thread: ScopedThread): Promise<Beginning | undefined> | undefined;
  readonly claim: ClaimRequest;
  readonly concurrency: number;
  /** Whether nothing is to be begun here any more. */
  isOver(): boolean;
  /** How often to look without having been told. */
  readonly lookMs: number;
  readonly node: NodeIdentity;
  readonly clock: Clock;
  /** What sets the timers of an idle worker; it may let the process end. */
  readonly timer: Clock["timer"];
  readonly log: Log;
  readonly ask: Ask;
}

const keyOf = ({ scopeId, threadId }: ScopedThread): string => JSON.stringify([scopeId, threadId]);

/** After a store that failed: how long until it is asked again. */
const FAILED_MS = 1_000;
/** What was due and could not be claimed is left to whoever has it for a moment. */
const MIN_SLEEP_MS = 10;
/** How often it is looked for what somebody waits for while all places are taken. */
const EXPECTED_MS = 250;
/** So much of that at once; the rest has its turn at the next look. */
const MAX_EXPECTED = 16;
/** How often it is looked whether a run of this process has begun that a thread is left to. */
const GIVE_WAY_MS = 100;
/** A lease is over when its end has passed. */
const AFTER_LEASE_MS = 5;

/**
 * Takes dispatches out of the queues of all tenants, so many at a time. It is woken by hints and by the time at which the next dispatch
 * becomes due or the next lease ends; without those it looks now and then, and does nothing between.
 */
export class Worker {
  readonly #init: WorkerInit;
  readonly #running = new Set<string>();
  /** Threads that somebody said have work. */
  readonly #told = new Map<string, ScopedThread>();
  /** Threads whose runs somebody of this process waits for: he may be a run that has the place which theirs would need. */
  readonly #expected = new Map<string, { readonly thread: ScopedThread; waiting: number }>();
  #nextExpectedAt = 0;
  /** Threads that are left alone for a while: their queue cannot be read here, or is for others first. What waits behind them is taken meanwhile. */
  readonly #leftAlone = new Map<string, { readonly from: number; readonly until: number }>();
  /** Threads that were asked for without an answer: they may be claimed, and nobody knows. */
  readonly #unanswered = new Map<string, ScopedThread>();
  #nextGiveBackAt = 0;
  #wake: (() => void) | undefined;
  #stopSleep: (() => void) | undefined;
  #isRung = false;
  #isClosed = false;
  #nextLookAt = 0;
  #loop: Promise<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(init: WorkerInit) {
    this.#init = init;
  }

  start(): void {
    this.#loop ??= this.#work();
  }

  /** Work is there, on this thread if it is named. */
  ring(thread?: ScopedThread): void {
    if (thread !== undefined) this.#told.set(keyOf(thread), thread);
    this.#isRung = true;
    this.#wake?.();
  }

  /** What waits on this thread is taken up also when all places are taken, until what this gives is called. */
  expect(thread: ScopedThread): () => void {
    const key = keyOf(thread);
    const expected = this.#expected.get(key) ?? { thread, waiting: 0 };
    expected.waiting += 1;
    this.#expected.set(key, expected);
    this.ring(thread);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      expected.waiting -= 1;
      if (expected.waiting === 0) this.#expected.delete(key);
    };
  }

  /** Claims nothing any more. What may be claimed without anybody knowing is given back, if the store answers now. */
  async stop(): Promise<void> {
    this.#isClosed = true;
    this.#stopSleep?.();
    await this.#loop;
    await Promise.all(this.#giveBackAll());
  }

  /** Resolves when nothing that it claimed is under way. */
  get idle(): Promise<void> {
    if (this.#running.size === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  /** Reclaims what is over, of those who are gone at once. */
  async look(): Promise<void> {
    const { queue, node, ask, clock, lookMs } = this.#init;
    const consumers = await ask("list consumers", queue.listConsumers());
    const gone = consumers.filter(({ name }) => name !== node.name && node.isGone(name)).map(({ name }) => name);
    const isOver = consumers.some(({ leaseEndsInMs }) => leaseEndsInMs === 0);
    // Its own too: a claim whose answer was lost is renewed by nobody.
    const next = consumers.find(({ name }) => !gone.includes(name))?.leaseEndsInMs ?? lookMs;
    this.#nextLookAt = clock.now() + Math.min(lookMs, next + AFTER_LEASE_MS);
    if (!isOver && gone.length === 0) return;
    await this.#init.takeBack(gone);
  }

  async #work(): Promise<void> {
    const { clock, log } = this.#init;
    while (!this.#isClosed) {
      try {
        if (this.#untilLook() === 0) {
          await this.look();
          this.#init.onLook();
        }
        if (this.#unanswered.size > 0 && clock.now() >= this.#nextGiveBackAt) this.#giveBackAll();
        if (await this.#fill()) continue;
        await this.#sleep(Math.max(this.#untilRead(), await this.#untilDue()));
      } catch (thrown) {
        if (this.#isClosed) return;
        log.warn(`the queue could not be asked: ${errorMessage(thrown)}`);
        // Whoever rings meanwhile is heard afterwards.
        await this.#rest(FAILED_MS);
      }
    }
  }

  /** True when something was claimed, or is passed over from now on: there may be more. */
  async #fill(): Promise<boolean> {
    const free = this.#init.concurrency - this.#running.size;
    this.#isRung = false;
    if (this.#init.isOver()) return false;
    const next = free > 0 ? await this.#next(free) : this.#nextExpected();
    const claimed = await Promise.all(next.map((thread) => this.#claim(thread)));
    return claimed.includes(true);
  }

  /** While all places are taken: threads that somebody waits for and has heard of, and now and then some others that he waits for. */
  #nextExpected(): readonly ScopedThread[] {
    const threads: ScopedThread[] = [];
    for (const [key, thread] of this.#told) {
      if (threads.length === MAX_EXPECTED) return threads;
      if (!this.#expected.has(key) || this.#running.has(key)) continue;
      this.#told.delete(key);
      threads.push(thread);
    }
    const now = this.#init.clock.now();
    if (now < this.#nextExpectedAt) return threads;
    this.#nextExpectedAt = now + EXPECTED_MS;
    for (const [key, expected] of [...this.#expected]) {
      if (threads.length === MAX_EXPECTED) break;
      if (this.#running.has(key) || threads.includes(expected.thread)) continue;
      threads.push(expected.thread);
      // To the end of the row.
      this.#expected.delete(key);
      this.#expected.set(key, expected);
    }
    return threads;
  }

  async #next(free: number): Promise<readonly ScopedThread[]> {
    const threads = this.#takeTold(free);
    if (threads.length === 0) {
      const now = this.#init.clock.now();
      for (const [key, { until }] of this.#leftAlone) if (until <= now) this.#leftAlone.delete(key);
      const passed = this.#running.size + this.#leftAlone.size;
      const due = await this.#init.ask("list due threads", this.#init.queue.listDue(free + passed));
      const isOpen = (key: string): boolean => !this.#running.has(key) && !this.#isLeft(key, now);
      threads.push(...due.filter((thread) => isOpen(keyOf(thread))).slice(0, free));
    }
    return threads;
  }

  #takeTold(limit: number): ScopedThread[] {
    const threads: ScopedThread[] = [];
    for (const [key, thread] of this.#told) {
      if (threads.length === limit) break;
      this.#told.delete(key);
      if (!this.#running.has(key)) threads.push(thread);
    }
    return threads;
  }

  async #claim(thread: ScopedThread): Promise<boolean> {
    const { tenantOf, claim, ask, execute, clock, isOver } = this.#init;
    const { scopeId, threadId } = thread;
    const key = keyOf(thread);
    // The time may have come while it was asked what is due.
    if (this.#running.has(key) || isOver()) return false;
    this.#running.add(key);
    const first = await this.#init.beginning(thread);
    if (first !== undefined) {
      this.#done(key);
      this.#giveWay(thread, first);
      return true;
    }
    const askedAt = clock.now();
    const { dispatches } = tenantOf(scopeId);
    const asked = dispatches.claim(threadId, claim);
    const claimed = await ask("claim a dispatch", asked).catch((thrown: unknown) => {
      this.#done(key);
      // The answer may still come, to nobody.
      void asked.then((late) => late && dispatches.release(late.dispatch)).catch(() => {});
      this.#passOver(thread, thrown);
      return "unread" as const;
    });
    if (claimed === "unread") return true;
    if (claimed === undefined) {
      this.#done(key);
      return false;
    }
    this.#unanswered.delete(key);
    void execute(scopeId, claimed, askedAt).then((fate) => {
      this.#done(key);
      if (fate === "unanswered") this.#unanswered.set(key, thread);
      if (fate === "left") this.#leave(key, UNKNOWN_AGENT_DELAY_MS - LEFT_TO_OTHERS_MS, 2 * LEFT_TO_OTHERS_MS);
      // More may wait, on this thread too: what was queued behind the run is told, or due.
      this.ring();
    });
    return true;
  }

  /** What is queued stays as it is, and keeps its place before what is queued later; other processes may take it. */
  #giveWay(thread: ScopedThread, { recorded }: Beginning): void {
    const key = keyOf(thread);
    const isLeftToOthers = this.#isLeft(key, this.#init.clock.now());
    if (!isLeftToOthers) this.#leave(key, 0, GIVE_WAY_MS);
    const left = this.#leftAlone.get(key);
    void recorded.then(() => {
      if (!isLeftToOthers && this.#leftAlone.get(key) === left) this.#leftAlone.delete(key);
      this.ring(thread);
    });
  }

  /** Unless the store itself has failed: then the others are not asked for either. */
  #passOver(thread: ScopedThread, thrown: unknown): void {
    const { type } = judgeFailure(thrown);
    if (type !== "dead-letter" && type !== "release") {
      this.#unanswered.set(keyOf(thread), thread);
      throw thrown;
    }
    this.#leave(keyOf(thread), 0, UNKNOWN_AGENT_DELAY_MS);
    this.#init.log.warn(`a dispatch could not be claimed: ${errorMessage(thrown)}`, { threadId: thread.threadId });
  }

  #leave(key: string, inMs: number, forMs: number): void {
    const from = this.#init.clock.now() + inMs;
    this.#leftAlone.set(key, { from, until: from + forMs });
  }

  #isLeft(key: string, now: number): boolean {
    const left = this.#leftAlone.get(key);
    return left !== undefined && left.from <= now && now < left.until;
  }

  /** What is left alone stays due, and is looked at again when that is over, or now and then. */
  #untilRead(): number {
    const now = this.#init.clock.now();
    const ends = [...this.#leftAlone].flatMap(([key, { until }]) => (this.#isLeft(key, now) ? [until - now] : []));
    return ends.length === 0 ? MIN_SLEEP_MS : Math.max(MIN_SLEEP_MS, Math.min(FAILED_MS, ...ends));
  }

  /** What was claimed without an answer. Nobody waits for that here: what it needs is one thread, and the others go on. */
  #giveBackAll(): readonly Promise<void>[] {
    this.#nextGiveBackAt = this.#init.clock.now() + FAILED_MS;
    return [...this.#unanswered].map(([key, thread]) => this.#giveBack(key, thread));
  }

  /** The thread is not asked for meanwhile, so that no answer is on its way. Never rejects. */
  async #giveBack(key: string, thread: ScopedThread): Promise<void> {
    if (this.#running.has(key)) return;
    this.#running.add(key);
    try {
      if (await this.#init.giveBack(thread)) this.#unanswered.delete(key);
    } catch (thrown) {
      // What cannot be read here was not claimed from here; and a lease ends by itself.
      if (judgeFailure(thrown).type !== "retry") this.#unanswered.delete(key);
      this.#init.log.warn(`a claim could not be given back: ${errorMessage(thrown)}`, { threadId: thread.threadId });
    }
    this.#done(key);
    this.ring();
  }

  #done(key: string): void {
    this.#running.delete(key);
    if (this.#running.size > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  /** At once when the clock was set back. */
  #untilLook(): number {
    const ms = Math.max(0, this.#nextLookAt - this.#init.clock.now());
    return ms > this.#init.lookMs ? 0 : ms;
  }

  async #untilDue(): Promise<number> {
    const { queue, ask, concurrency } = this.#init;
    const untilLook = this.#unanswered.size > 0 ? FAILED_MS : this.#untilLook();
    if (this.#init.isOver()) return untilLook;
    if (this.#running.size >= concurrency) return this.#expected.size === 0 ? untilLook : Math.min(untilLook, EXPECTED_MS);
    return Math.min(untilLook, (await ask("ask for the next due time", queue.nextDueInMs())) ?? untilLook);
  }

  /** Ends with the time, or when somebody rings: also when he rang before this began. */
  async #sleep(ms: number): Promise<void> {
    const canClaim = this.#running.size < this.#init.concurrency && !this.#init.isOver();
    if (this.#isRung || (this.#told.size > 0 && canClaim)) return;
    await this.#rest(ms, (wake) => (this.#wake = wake));
    this.#wake = undefined;
  }

  /** Ends with the time, or when nothing is to be claimed any more. */
  async #rest(ms: number, begun?: (wake: () => void) => void): Promise<void> {
    if (this.#isClosed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stopSleep = resolve;
    begun?.(resolve);
    const stop = this.#init.timer(ms, resolve);
    await promise;
    this.#stopSleep = undefined;
    stop();
  }
}
