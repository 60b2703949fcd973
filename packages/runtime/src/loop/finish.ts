import {
  type AgentEvent,
  errorMessage,
  type JsonValue,
  type RunId,
  type RunOutcome,
  type RunStatus,
  type Termination,
  type ThreadId,
  type Ticket,
  type Usage,
} from "@awaken/contract";
import { command } from "../phase/command.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import type { RunContext } from "./run-context.ts";
import { openTickets } from "./tool-call.ts";

export interface LoopResult {
  readonly runId: RunId;
  readonly threadId: ThreadId;
  readonly text: string;
  readonly status: RunStatus;
  readonly termination: Termination;
  readonly steps: number;
  readonly usage: Usage;
  readonly tickets: readonly Ticket[];
  readonly output: JsonValue | undefined;
}

/** A run that waits for something else than a decision stays waiting; a cancelled one never does. */
function isOver(ctx: RunContext, termination: Termination): boolean {
  if (termination.type === "suspended") return false;
  const status = ctx.state.snapshot().get(runLifecycle)?.status;
  return status !== "waiting" || termination.type !== "natural-end";
}

/** The last words, for listeners and for the record. */
function runEnd(ctx: RunContext, termination: Termination): AgentEvent {
  const lifecycle = ctx.state.snapshot().get(runLifecycle);
  const result: RunOutcome = {
    response: ctx.tally.response,
    status: lifecycle?.status ?? "done",
    ...(lifecycle?.waitingReason === undefined ? {} : { waitingReason: lifecycle.waitingReason }),
    ...(ctx.tally.output === undefined ? {} : { output: ctx.tally.output.value }),
  };
  const { threadId, runId } = ctx.identity;
  return { type: "run-end", threadId, runId, termination, tickets: openTickets(ctx), result };
}

/** Hooks of the end run whatever happened, and none of them can keep the run from ending. */
async function runEndHooks(ctx: RunContext, termination: Termination): Promise<Termination> {
  try {
    const done = ctx.phases.run("runEnd", { termination });
    if (typeof done !== "string") await done;
    return termination;
  } catch (thrown) {
    ctx.log.error(`a runEnd hook failed: ${errorMessage(thrown)}`, { runId: ctx.identity.runId });
    return termination;
  }
}

/** The one door: lifecycle, hooks, commit, and exactly one terminal event. A commit that fails is the run's failure. */
export async function finish(ctx: RunContext, given: Termination): Promise<LoopResult> {
  if (isOver(ctx, given)) {
    ctx.state.commit(command().update(runLifecycle, { type: "done", termination: given, at: ctx.clock.now() }));
  }
  let termination = await runEndHooks(ctx, ctx.state.snapshot().get(runLifecycle)?.termination ?? given);
  let event = runEnd(ctx, termination);
  ctx.checkpoints.stage(event);
  try {
    await ctx.checkpoints.write(termination);
  } catch (thrown) {
    ctx.log.error(`the last commit failed: ${errorMessage(thrown)}`, { runId: ctx.identity.runId });
    termination = { type: "error", message: `storage failed: ${errorMessage(thrown)}`, code: "storage_io" };
    event = runEnd(ctx, termination);
  }
  ctx.emitSnapshot();
  ctx.emit(event);
  return {
    runId: ctx.identity.runId,
    threadId: ctx.identity.threadId,
    text: ctx.tally.response,
    status: ctx.state.snapshot().get(runLifecycle)?.status ?? "done",
    termination,
    steps: ctx.tally.steps,
    usage: ctx.tally.usage,
    tickets: openTickets(ctx),
    output: ctx.tally.output?.value,
  };
}
