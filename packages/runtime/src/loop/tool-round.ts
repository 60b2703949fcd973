import { errorMessage, type ToolResult } from "@awaken/contract";
import type { LedgerClaim } from "@awaken/contract/store";
import { type Late, whenThere } from "../stream/door.ts";
import type { ToolReply } from "../tool/tool.ts";
import { gateCall } from "./gate-call.ts";
import { type AllowedCall, inputOf, type LiveCall } from "./live-call.ts";
import type { OpenRound, RunContext } from "./run-context.ts";
import { RunningCalls } from "./running-calls.ts";
import { completeCall, INTERRUPTED, recordCall } from "./tool-call.ts";

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

/** What happens in a round whose calls pass their gates and are soon over. The rest is in `odd-round.ts`. */
class Round implements OpenRound {
  readonly ctx: RunContext;
  readonly calls: readonly LiveCall[];
  /** A set of those that have none would be filled and emptied for nothing. */
  readonly settled: string[] = [];
  readonly isSequential: boolean;
  readonly running: RunningCalls;
  allowed: AllowedCall[] = [];
  isSuspended = false;
  isStopped = false;
  isDirty = true;
  isListed = false;
  failure: { readonly thrown: unknown } | undefined;

  constructor(ctx: RunContext, calls: readonly LiveCall[], isSequential: boolean) {
    this.ctx = ctx;
    this.calls = calls;
    this.isSequential = isSequential;
    this.running = new RunningCalls(ctx);
  }

  get isClosing(): boolean {
    return this.isStopped || this.ctx.signal.aborted;
  }

  async run(): Promise<RoundOutcome> {
    const { ctx, calls, settled } = this;
    try {
      for (const live of calls) {
        if (this.isClosing) break;
        const gating = gateCall(ctx, live);
        const gated = gating instanceof Promise ? await gating : gating;
        if (gated.type === "allowed") {
          this.allowed.push(gated.call);
          continue;
        }
        // Whoever intercepts it has loaded what follows.
        const reason = await ctx.seldom.here.intercept(this, live, gated);
        if (reason !== undefined) return { type: "blocked", reason };
      }
      // After a break there is nothing to start, or the run is cancelled: what did not begin is interrupted, in call order.
      if (!this.isClosing) await this.start();
      await this.bringToEnd();
      return { type: this.isSuspended ? "suspended" : "completed" };
    } catch (thrown) {
      this.failure ??= { thrown };
      await this.bringToEnd().catch(() => {});
      throw thrown;
    } finally {
      this.running.close();
      if (settled.length < calls.length) await this.#close();
    }
  }

  start(): Promise<void> {
    const { allowed } = this;
    this.allowed = [];
    return this.isSequential ? this.#beginInSequence(allowed) : this.#begin(allowed);
  }

  async #beginInSequence(allowed: readonly AllowedCall[]): Promise<void> {
    for (const call of allowed) {
      if (this.isClosing) return;
      await this.#begin([call]);
      await this.bringToEnd();
      this.isStopped = this.isSuspended;
    }
  }

  /** All at once on one snapshot. */
  async #begin(allowed: readonly AllowedCall[]): Promise<void> {
    const { ctx } = this;
    for (const call of allowed) {
      if ("reply" in call) continue;
      const before = ctx.phases.run("beforeToolExecute", { call: call.call, resume: call.resume });
      if ((before instanceof Promise ? await before : before) === "cancelled") return;
    }
    if (ctx.signal.aborted || allowed.length === 0) return;
    const claiming = this.#claim(allowed);
    if (claiming instanceof Promise) await claiming;
    if (ctx.signal.aborted) return;
    if (this.isSuspended) await ctx.seldom.here.putOnRecord(this);
    for (const call of allowed) this.running.add(call);
  }

  /** Puts on record that these calls are about to run: after a crash, whoever goes on knows that they may have had their effect. */
  #claim(calls: readonly AllowedCall[]): Late<void> {
    const { ledger, writer, tally } = this.ctx;
    if (ledger === undefined) return undefined;
    const claims: LedgerClaim[] = [];
    for (const call of calls) if ("tool" in call && !call.tool.traits.pure) claims.push(ledger.claim(call, inputOf(call), tally.steps));
    if (claims.length === 0) return undefined;
    this.isDirty = false;
    return writer.claim(claims);
  }

  /**
   * Brings calls to their end as they are ready: in call order; in a round that lasts, or in which one waits, as they come, and on record
   * at once. Returns when all are over, or, if that will do, as soon as the round lasts.
   */
  async bringToEnd(mayLast = false): Promise<void> {
    const { running, ctx } = this;
    // For all of them: those that answer together are looked at together, in call order.
    for (let turn = 0; turn < AT_ONCE && !running.areReady; turn++) await NOW;
    while (running.size > 0) {
      const ready = running.takeReady();
      const isAlone = ready.length + running.size === 1;
      if (running.size > 0 && (!isAlone || mayLast || this.isDirty)) running.watch();
      for (const { call, reply } of ready) {
        try {
          const finishing = this.#finishOne(call, reply);
          if (finishing instanceof Promise) await finishing;
        } catch (thrown) {
          this.failure ??= { thrown };
        }
      }
      if (running.size === 0) break;
      if ((running.isLasting || this.isSuspended) && !ctx.signal.aborted) await this.#putOnRecord();
      if (mayLast && running.isLasting) return;
      await running.next();
    }
    if (this.failure !== undefined) throw this.failure.thrown;
  }

  /** What cannot be written now, or whose part is not there, rides in the next commit. */
  async #putOnRecord(): Promise<void> {
    const { seldom, log, identity } = this.ctx;
    const room = await Promise.resolve(seldom.open()).catch((thrown: unknown) => {
      log.warn(`results could not be put on record yet: ${errorMessage(thrown)}`, { runId: identity.runId });
    });
    await room?.putOnRecord(this);
  }

  /** Also where the part is not there that knows of calls whose outcome was lost: those stay as they are. */
  async #close(): Promise<void> {
    const { ctx, calls, settled } = this;
    const room = await Promise.resolve(ctx.seldom.open()).catch(() => undefined);
    if (room !== undefined) return room.closeOpen(this);
    for (const live of calls) {
      if (!settled.includes(live.call.id) && ctx.ledger?.unknownOf(live) === undefined) recordCall(ctx, live, INTERRUPTED);
    }
  }

  #finishOne(call: AllowedCall, reply: ToolReply): Late<void> {
    const isPending = reply.result.type === "pending";
    if (!isPending && !this.running.isLasting) return this.finish(call, reply);
    const room = this.ctx.seldom.open();
    if (!(room instanceof Promise)) return room.finishOdd(this, call, reply);
    return room.then(
      ({ finishOdd }) => finishOdd(this, call, reply),
      (thrown: unknown) => {
        // Without its part no call can wait; what one has done is kept.
        if (isPending) throw thrown;
        return this.finish(call, reply);
      },
    );
  }

  finish(live: LiveCall, reply: ToolReply): Late<void> {
    this.settled.push(live.call.id);
    // Behind a failure, results are recorded and no more.
    if (this.failure !== undefined) return recordCall(this.ctx, live, reply.result);
    const result = completeCall(this.ctx, live, reply);
    return whenThere(result, (told) => this.note(told));
  }

  note(result: ToolResult): void {
    this.isDirty = true;
    if (result.type === "pending") this.isSuspended = true;
  }
}
