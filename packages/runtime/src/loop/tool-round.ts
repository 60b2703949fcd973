import { errorMessage, type ToolResult } from "@awaken/contract";
import type { PhaseOutcome } from "../phase/whole-phase-parts.ts";
import type { Late } from "../stream/door.ts";
import { toolFailure } from "../tool/execute.ts";
import type { ToolReply } from "../tool/tool.ts";
import type { Intercept } from "../tool/verdict.ts";
import { gateCall } from "./gate-call.ts";
import { type AllowedCall, type Gated, inputOf, type LiveCall } from "./live-call.ts";
import type { RunContext } from "./run-context.ts";
import { RunningCalls } from "./running-calls.ts";
import { completeCall, execute, holdCall, interruptCall, listCalls, recordCall, suspendCall } from "./tool-call.ts";

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

const hasEffect = (call: AllowedCall): boolean => "tool" in call && !call.tool.traits.pure;

class Round {
  readonly #ctx: RunContext;
  readonly #calls: readonly LiveCall[];
  /** Ids of calls without a result. */
  readonly #open: Set<string>;
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
    this.#open = new Set(calls.map((live) => live.call.id));
    this.#isSequential = isSequential;
    this.#running = new RunningCalls(ctx.clock);
  }

  async run(): Promise<RoundOutcome> {
    try {
      const reason = await this.#pass();
      if (reason !== undefined) return { type: "blocked", reason };
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
      if (this.#ctx.signal.aborted && this.#open.size > 0) await this.#findOut();
      this.#closeOpen();
    }
  }

  /** Each call passes its gates, in call order. Gives the reason when one is blocked: the run ends. */
  async #pass(): Promise<string | undefined> {
    for (const live of this.#calls) {
      if (this.#ctx.signal.aborted) return undefined;
      let gated = await gateCall(this.#ctx, live);
      if (this.#ctx.signal.aborted) return undefined;
      if (gated.type === "intercepted") {
        gated = await this.#lookAgain(live, gated);
        if (this.#isStopped || this.#ctx.signal.aborted) return undefined;
      }
      if (gated.type === "allowed") this.#allowed.push(gated.call);
      else {
        const reason = await this.#intercept(live, gated.intercept);
        if (reason !== undefined) return reason;
        if (this.#isStopped) return undefined;
      }
    }
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

  /** The run was told to stop: calls of a process that is gone are not run again, and their tools may know what became of them. */
  async #findOut(): Promise<void> {
    const { ledger } = this.#ctx;
    const lost = this.#calls.filter((live) => this.#open.has(live.call.id) && ledger?.unknownOf(live) !== undefined);
    if (lost.length === 0) return;
    const { knownResults } = await this.#ctx.seldom.open();
    for (const [live, result] of await knownResults(this.#ctx, lost)) {
      this.#open.delete(live.call.id);
      recordCall(this.#ctx, live, result);
    }
  }

  /** Calls that nobody got to, or that a failure cut off. Behind one that waits they have their turn when it is decided. */
  #closeOpen(): void {
    const isHeld = this.#isStopped && this.#failure === undefined && !this.#ctx.signal.aborted;
    for (const live of this.#calls) {
      if (!this.#open.delete(live.call.id)) continue;
      if (isHeld) holdCall(this.#ctx, live);
      else interruptCall(this.#ctx, live);
    }
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
        this.#open.delete(live.call.id);
        suspendCall(this.#ctx, live, intercept.suspension);
        this.#note({ type: "pending", suspension: intercept.suspension });
        this.#isStopped = this.#isSequential;
        return undefined;
      case "answer":
        await this.#complete(live, intercept.result);
        return undefined;
    }
  }

  #complete(live: LiveCall, result: ToolResult): Promise<void> {
    return this.#finish(live, { result, command: undefined });
  }

  async #finish(live: LiveCall, reply: ToolReply): Promise<void> {
    this.#open.delete(live.call.id);
    this.#note(await completeCall(this.#ctx, live, reply));
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
      if ((await this.#before(call)) === "cancelled" || !(await this.#claim([call]))) return;
      this.#running.add(call, execute(this.#ctx, call));
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
    for (const call of allowed) if ((await this.#before(call)) === "cancelled") return;
    if (this.#ctx.signal.aborted || !(await this.#claim(allowed))) return;
    if (this.#isSuspended) await this.#putOnRecord();
    for (const call of allowed) this.#running.add(call, execute(this.#ctx, call));
  }

  /**
   * Brings calls to their end as they are ready: in call order; in a round that lasts, or in which one waits, as they come, and on record
   * at once. Returns when all are over, or, if that will do, as soon as the round lasts.
   */
  async #bringToEnd(mayLast = false): Promise<void> {
    const running = this.#running;
    while (running.size > 0) {
      if (running.size > 1 || mayLast || this.#isDirty) running.watch();
      for (const { call, reply } of running.takeReady()) {
        await this.#finishOne(call, reply);
      }
      if (running.size === 0) break;
      if ((running.isLasting || this.#isSuspended) && !this.#ctx.signal.aborted) await this.#putOnRecord();
      if (mayLast && running.isLasting) return;
      await running.next();
    }
    if (this.#failure !== undefined) throw this.#failure.thrown;
  }

  /** Neither throws nor rejects: behind a failure, results are recorded and no more. */
  async #finishOne(call: AllowedCall, reply: ToolReply): Promise<void> {
    if (this.#failure !== undefined) {
      if (this.#open.delete(call.call.id)) recordCall(this.#ctx, call, reply.result);
      return;
    }
    try {
      if (this.#running.isLasting) this.#keepOrder();
      await this.#finish(call, reply);
    } catch (thrown) {
      this.#failure = { thrown };
    }
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
   * when the run was cancelled meanwhile.
   */
  #claim(calls: readonly AllowedCall[]): boolean | Promise<boolean> {
    const { ledger, writer, tally, signal } = this.#ctx;
    const effects = calls.filter(hasEffect);
    if (ledger === undefined || effects.length === 0) return true;
    const claims = effects.map((live) =>
      ledger.claim({ messageId: live.messageId, call: { ...live.call, input: inputOf(live) } }, tally.steps),
    );
    this.#isDirty = false;
    return writer.claim(claims).then(() => !signal.aborted);
  }

  #before(call: AllowedCall): Late<PhaseOutcome> {
    return "reply" in call ? "completed" : this.#ctx.phases.run("beforeToolExecute", { call: call.call, resume: call.resume });
  }
}
