import type { ToolResult } from "@awaken/contract";
import { toolFailure } from "../tool/execute.ts";
import type { ToolReply } from "../tool/tool.ts";
import type { Intercept } from "../tool/verdict.ts";
import { gateCall } from "./gate-call.ts";
import type { AllowedCall, LiveCall } from "./live-call.ts";
import type { RunContext } from "./run-context.ts";
import { completeCall, execute, interruptCall, recordCall, suspendCall } from "./tool-call.ts";

export type RoundOutcome =
  | { readonly type: "completed" }
  | { readonly type: "suspended" }
  | { readonly type: "blocked"; readonly reason: string };

/** The calls of one turn. Whatever happens, each of them has exactly one result in the transcript when this returns or throws. */
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
  #allowed: AllowedCall[] = [];
  #isSuspended = false;
  /** In sequence, nothing runs after a call that waits. */
  #isStopped = false;

  constructor(ctx: RunContext, calls: readonly LiveCall[], isSequential: boolean) {
    this.#ctx = ctx;
    this.#calls = calls;
    this.#open = new Set(calls.map((live) => live.call.id));
    this.#isSequential = isSequential;
  }

  async run(): Promise<RoundOutcome> {
    try {
      for (const live of this.#calls) {
        const asked = gateCall(this.#ctx, live);
        let gated = asked instanceof Promise ? await asked : asked;
        if (this.#ctx.signal.aborted) break;
        if (gated.type === "intercepted" && this.#allowed.length > 0) {
          // Earlier calls run first: they may change what the gate sees.
          await this.#flush();
          if (this.#isStopped || this.#ctx.signal.aborted) break;
          gated = await gateCall(this.#ctx, live);
        }
        if (gated.type === "allowed") this.#allowed.push(gated.call);
        else {
          const reason = await this.#intercept(live, gated.intercept);
          if (reason !== undefined) return { type: "blocked", reason };
          if (this.#isStopped) break;
        }
      }
      // After a break there is nothing to flush, or the run is cancelled: what did not begin is interrupted, in call order.
      if (!this.#ctx.signal.aborted) await this.#flush();
      return { type: this.#isSuspended ? "suspended" : "completed" };
    } finally {
      this.#interruptOpen();
    }
  }

  /** Calls that nobody got to, or that a failure cut off. */
  #interruptOpen(): void {
    for (const live of this.#calls) if (this.#open.delete(live.call.id)) interruptCall(this.#ctx, live);
  }

  /** Gives the reason when the call is blocked: the run ends. */
  async #intercept(live: LiveCall, intercept: Intercept): Promise<string | undefined> {
    switch (intercept.type) {
      case "block":
        await this.#complete(live, toolFailure("denied", intercept.reason, { rejected: true }));
        return intercept.reason;
      case "suspend":
        this.#open.delete(live.call.id);
        suspendCall(this.#ctx, live, intercept.suspension);
        this.#isSuspended = true;
        this.#isStopped = this.#isSequential;
        return undefined;
      case "answer":
        await this.#complete(live, intercept.result);
        return undefined;
    }
  }

  async #complete(live: LiveCall, result: ToolResult): Promise<void> {
    await this.#finish(live, { result, command: undefined });
  }

  #finish(live: LiveCall, reply: ToolReply): Promise<void> | undefined {
    this.#open.delete(live.call.id);
    const completed = completeCall(this.#ctx, live, reply);
    if (completed instanceof Promise) return completed.then((result) => this.#note(result));
    this.#note(completed);
    return undefined;
  }

  #note(result: ToolResult): void {
    if (result.type === "pending") this.#isSuspended = true;
  }

  #flush(): Promise<void> {
    const allowed = this.#allowed;
    this.#allowed = [];
    return this.#isSequential ? this.#runInSequence(allowed) : this.#runTogether(allowed);
  }

  async #runInSequence(allowed: readonly AllowedCall[]): Promise<void> {
    for (const call of allowed) {
      if (this.#ctx.signal.aborted) return;
      if (!(await this.#before(call)) || !(await this.#claim([call]))) return;
      await this.#finish(call, await execute(this.#ctx, call));
      if (this.#isSuspended) {
        this.#isStopped = true;
        return;
      }
    }
  }

  /** All at once on one snapshot; results are committed in call order, each as soon as it and those before it are there. */
  async #runTogether(allowed: readonly AllowedCall[]): Promise<void> {
    for (const call of allowed) {
      const mayRun = this.#before(call);
      if (!(typeof mayRun === "boolean" ? mayRun : await mayRun)) return;
    }
    if (this.#ctx.signal.aborted) return;
    const isClaimed = this.#claim(allowed);
    if (!(typeof isClaimed === "boolean" ? isClaimed : await isClaimed)) return;
    const replies = allowed.map((call) => execute(this.#ctx, call));
    let failure: { readonly thrown: unknown } | undefined;
    for (const [index, call] of allowed.entries()) {
      const reply = await replies[index];
      if (reply === undefined) continue;
      if (failure === undefined) {
        try {
          const finishing = this.#finish(call, reply);
          if (finishing !== undefined) await finishing;
        } catch (thrown) {
          failure = { thrown };
        }
      } else if (this.#open.delete(call.call.id)) recordCall(this.#ctx, call, reply.result);
    }
    if (failure !== undefined) throw failure.thrown;
  }

  /**
   * Puts on record that these calls are about to run: after a crash, whoever goes on knows that they may have had their effect. False
   * when the run was cancelled meanwhile.
   */
  #claim(calls: readonly AllowedCall[]): boolean | Promise<boolean> {
    const { ledger, checkpoints, tally, signal } = this.#ctx;
    if (ledger === undefined) return true;
    if (!calls.some(hasEffect)) return true;
    const claims = calls.filter(hasEffect).map((call) => ledger.claim(call, tally.steps));
    return checkpoints.claim(claims).then(() => !signal.aborted);
  }

  /** False when the run was cancelled meanwhile. */
  #before(call: AllowedCall): boolean | Promise<boolean> {
    if ("reply" in call) return true;
    const outcome = this.#ctx.phases.run("beforeToolExecute", { call: call.call, resume: call.resume });
    return typeof outcome === "string" ? outcome === "completed" : outcome.then((told) => told === "completed");
  }
}
