import { errorMessage, type ToolResult } from "@awaken/contract";
import type { LedgerClaim } from "@awaken/contract/store";
import type { PhaseOutcome } from "../phase/whole-phase-parts.ts";
import { schemas } from "../state/late-schema.ts";
import { type Late, whenThere } from "../stream/door.ts";
import { toolFailure } from "../tool/execute.ts";
import type { ToolReply } from "../tool/tool.ts";
import type { Intercept } from "../tool/verdict.ts";
import { gateCall } from "./gate-call.ts";
import { type AllowedCall, type Gated, inputOf, type LiveCall } from "./live-call.ts";
import type { RunContext } from "./run-context.ts";
import { RunningCalls } from "./running-calls.ts";
import { completeCall, execute, interruptCall, listCalls, recordCall, suspendCall } from "./tool-call.ts";

export type RoundOutcome =
  | { readonly type: "completed" }
  | { readonly type: "suspended" }
  | { readonly type: "blocked"; readonly reason: string };

/**
 * The calls of one turn. Whatever happens, each of them has exactly one result in the transcript when this returns or throws; in sequence,
 * those behind a call that waits are held for later.
 */
export const runToolRound = (
  ctx: RunContext,
  calls: readonly LiveCall[],
  mode = ctx.active.plan.agent.toolExecution,
): Promise<RoundOutcome> => new Round(ctx, calls, mode === "sequential").run();

/**
 * What a tool gives without waiting for anything outside is there after so many turns of the queue: no timer is set for it, which is made
 * and dropped at once (2 % of W2).
 */
const AT_ONCE = 4;
const NOW = Promise.resolve();

class Round {
  readonly #ctx: RunContext;
  readonly #calls: readonly LiveCall[];
  /** Ids of calls that have a result, or wait. A set of those that have none would be filled and emptied for nothing. */
  readonly #settled: string[] = [];
  readonly #isSequential: boolean;
  readonly #running: RunningCalls;
  #allowed: AllowedCall[] = [];
  #isSuspended = false;
  /** In sequence, nothing runs after a call that waits. */
  #isStopped = false;
  /** Something is not on record: the turn itself, which only a claim writes before, or a call that has its result, or waits. */
  #isDirty = true;
  #isListed = false;
  #failure: { readonly thrown: unknown } | undefined;

  constructor(ctx: RunContext, calls: readonly LiveCall[], isSequential: boolean) {
    this.#ctx = ctx;
    this.#calls = calls;
    this.#isSequential = isSequential;
    this.#running = new RunningCalls(ctx.clock);
  }

  async run(): Promise<RoundOutcome> {
    try {
      for (const live of this.#calls) {
        if (this.#isStopped || this.#ctx.signal.aborted) break;
        const passing = this.#pass(live);
        const reason = passing instanceof Promise ? await passing : passing;
        if (reason !== undefined) return { type: "blocked", reason };
      }
      // After a break there is nothing to start, or the run is cancelled: what did not begin is interrupted, in call order.
      if (!this.#isStopped && !this.#ctx.signal.aborted) await this.#start();
      await this.#bringToEnd();
      return { type: this.#isSuspended ? "suspended" : "completed" };
    } catch (thrown) {
      this.#failure ??= { thrown };
      await this.#bringToEnd().catch(() => {});
      throw thrown;
    } finally {
      this.#running.close();
      if (this.#settled.length < this.#calls.length) await this.#closeOpen();
    }
  }

  /** Gives the reason when the call is blocked: the run ends. Without a promise when there was nobody to ask. */
  #pass(live: LiveCall): Late<string | undefined> {
    const gated = gateCall(this.#ctx, live);
    if (gated instanceof Promise || gated.type !== "allowed") return this.#passAsked(live, gated);
    this.#allowed.push(gated.call);
    return undefined;
  }

  async #passAsked(live: LiveCall, gating: Late<Gated>): Promise<string | undefined> {
    let gated = await gating;
    if (this.#ctx.signal.aborted) return undefined;
    if (gated.type === "intercepted") {
      gated = await this.#lookAgain(live, gated);
      if (this.#isStopped || this.#ctx.signal.aborted) return undefined;
    }
    if (gated.type !== "allowed") return this.#intercept(live, gated.intercept);
    this.#allowed.push(gated.call);
    return undefined;
  }

  /** Earlier calls run first: they may change what the gate sees. A question is not kept back for ones that last. */
  async #lookAgain(live: LiveCall, gated: Extract<Gated, { type: "intercepted" }>): Promise<Gated> {
    if (this.#allowed.length === 0 && this.#running.size === 0) return gated;
    await this.#start();
    await this.#bringToEnd(gated.intercept.type === "suspend");
    if (this.#isStopped || this.#ctx.signal.aborted || this.#running.size > 0) return gated;
    return gateCall(this.#ctx, live);
  }

  /**
   * The run was told to stop: calls of a process that is gone are not run again, and their tools may know what became of them. Gives those
   * of which nothing is known.
   */
  async #findOut(open: readonly LiveCall[]): Promise<readonly LiveCall[]> {
    const lost = open.filter((live) => this.#ctx.ledger?.unknownOf(live) !== undefined);
    if (lost.length === 0) return open;
    const known = await (await this.#ctx.seldom.open()).knownResults(this.#ctx, lost);
    for (const [live, result] of known) recordCall(this.#ctx, live, result);
    return open.filter((live) => !known.has(live));
  }

  /** Calls that nobody got to, or that a failure cut off. Behind one that waits they have their turn when it is decided. */
  async #closeOpen(): Promise<void> {
    const settled = new Set(this.#settled);
    const open = this.#calls.filter((live) => !settled.has(live.call.id));
    const left = this.#ctx.signal.aborted ? await this.#findOut(open) : open;
    const isHeld = this.#isStopped && this.#failure === undefined && !this.#ctx.signal.aborted;
    for (const live of left) (isHeld ? this.#ctx.seldom.here.holdCall : interruptCall)(this.#ctx, live);
  }

  /** Gives the reason when the call is blocked: the run ends. */
  async #intercept(live: LiveCall, intercept: Intercept): Promise<string | undefined> {
    switch (intercept.type) {
      case "block":
        await this.#complete(live, toolFailure("denied", intercept.reason, { rejected: true }));
        return intercept.reason;
      case "deny":
        await this.#complete(live, toolFailure("denied", intercept.reason, { rejected: true }));
        return undefined;
      case "suspend":
        this.#keepOrder();
        this.#settled.push(live.call.id);
        suspendCall(this.#ctx, live, intercept.suspension);
        this.#note({ type: "pending", suspension: intercept.suspension });
        this.#isStopped = this.#isSequential;
        return undefined;
      case "answer":
        await this.#complete(live, intercept.result);
        return undefined;
    }
  }

  #complete(live: LiveCall, result: ToolResult): Late<void> {
    return this.#finish(live, { result, command: undefined });
  }

  /** Without a promise when no hook has to be waited for. */
  #finish(live: LiveCall, reply: ToolReply): Late<void> {
    this.#settled.push(live.call.id);
    const result = completeCall(this.#ctx, live, reply);
    return result instanceof Promise ? result.then((told) => this.#note(told)) : this.#note(result);
  }

  #note(result: ToolResult): void {
    this.#isDirty = true;
    if (result.type === "pending") this.#isSuspended = true;
  }

  /** Begins what passed its gates; in sequence it is over when this returns. */
  #start(): Promise<void> {
    const allowed = this.#allowed;
    this.#allowed = [];
    return this.#isSequential ? this.#runInSequence(allowed) : this.#startTogether(allowed);
  }

  async #runInSequence(allowed: readonly AllowedCall[]): Promise<void> {
    for (const call of allowed) {
      if (this.#ctx.signal.aborted) return;
      if ((await this.#before(call)) === "cancelled" || (await this.#claim([call])) === false) return;
      this.#running.add(call, this.#execute);
      await this.#bringToEnd();
      if (this.#isSuspended) {
        this.#isStopped = true;
        return;
      }
    }
  }

  /** All at once on one snapshot. */
  async #startTogether(allowed: readonly AllowedCall[]): Promise<void> {
    if (allowed.length === 0) return;
    for (const call of allowed) {
      const before = this.#before(call);
      if ((before instanceof Promise ? await before : before) === "cancelled") return;
    }
    if (this.#ctx.signal.aborted) return;
    const claiming = this.#claim(allowed);
    if (claiming !== undefined && !(claiming instanceof Promise ? await claiming : claiming)) return;
    if (this.#isSuspended) await this.#putOnRecord();
    for (const call of allowed) this.#running.add(call, this.#execute);
  }

  readonly #execute = (call: AllowedCall, done: (reply: ToolReply) => void): void => execute(this.#ctx, call, done);

  /**
   * Brings calls to their end as they are ready: in call order; in a round that lasts, or in which one waits, as they come, and on record
   * at once. Returns when all are over, or, if that will do, as soon as the round lasts.
   */
  async #bringToEnd(mayLast = false): Promise<void> {
    const running = this.#running;
    // For all of them: those that answer together are looked at together, in call order.
    for (let turn = 0; turn < AT_ONCE && !running.areReady; turn++) await NOW;
    while (running.size > 0) {
      const ready = running.takeReady();
      const isAlone = ready.length + running.size === 1;
      if (running.size > 0 && (!isAlone || mayLast || this.#isDirty)) running.watch();
      for (const { call, reply } of ready) {
        try {
          const finishing = this.#finishOne(call, reply);
          if (finishing instanceof Promise) await finishing;
        } catch (thrown) {
          this.#failure ??= { thrown };
        }
      }
      if (running.size === 0) break;
      if ((running.isLasting || this.#isSuspended) && !this.#ctx.signal.aborted) await this.#putOnRecord();
      if (mayLast && running.isLasting) return;
      await running.next();
    }
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  /** Behind a failure, results are recorded and no more. */
  #finishOne(call: AllowedCall, reply: ToolReply): Late<void> {
    // What a call needs that waits, and what state needs that a tool changes.
    const opening = reply.result.type === "pending" ? this.#ctx.seldom.open() : reply.command && schemas.open();
    if (opening instanceof Promise) return opening.then(() => this.#finishOne(call, reply));
    if (this.#failure !== undefined) {
      this.#settled.push(call.call.id);
      recordCall(this.#ctx, call, reply.result);
      return;
    }
    if (this.#running.isLasting) this.#keepOrder();
    return this.#finish(call, reply);
  }

  /** Tickets come in the order of the calls, whichever waits first. */
  #keepOrder(): void {
    if (this.#calls.length > 1) this.#list();
  }

  #list(): void {
    if (this.#isListed) return;
    this.#isListed = true;
    listCalls(this.#ctx, this.#calls);
  }

  /** With the calls that are not over: after a crash they are brought to their end. What cannot be written now rides in the next commit. */
  async #putOnRecord(): Promise<void> {
    if (!this.#isDirty) return;
    this.#isDirty = false;
    this.#list();
    try {
      await this.#ctx.writer.write();
    } catch (thrown) {
      this.#ctx.log.warn(`results could not be put on record yet: ${errorMessage(thrown)}`, { runId: this.#ctx.identity.runId });
    }
  }

  /**
   * Puts on record that these calls are about to run: after a crash, whoever goes on knows that they may have had their effect. False
   * when the run was cancelled meanwhile; undefined when there is nothing to put on record.
   */
  #claim(calls: readonly AllowedCall[]): Late<boolean> | undefined {
    const { ledger, writer, tally, signal } = this.#ctx;
    if (ledger === undefined) return undefined;
    const claims: LedgerClaim[] = [];
    for (const call of calls) if ("tool" in call && !call.tool.traits.pure) claims.push(ledger.claim(call, inputOf(call), tally.steps));
    if (claims.length === 0) return undefined;
    this.#isDirty = false;
    return whenThere(writer.claim(claims), () => !signal.aborted);
  }

  #before(call: AllowedCall): Late<PhaseOutcome> {
    return "reply" in call ? "completed" : this.#ctx.phases.run("beforeToolExecute", { call: call.call, resume: call.resume });
  }
}
