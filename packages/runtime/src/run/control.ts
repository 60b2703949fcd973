import {
  AwakenError,
  type DecisionAction,
  decisionId,
  type JsonValue,
  NO_USAGE,
  type RunRecord,
  type Termination,
  ticketId,
  runId as toRunId,
} from "@awaken/contract";
import type { LoopResult } from "../loop/finish.ts";
import type { AddressedDecision } from "../loop/run-context.ts";
import type { RunParts } from "./run-parts.ts";
import { type RunRequest, toMessages } from "./run-request.ts";
import { startRun } from "./stream-run.ts";

/** What a user says about a ticket. `id` makes it idempotent: the same id twice decides once. */
export type DecisionInput = DecisionAction & { readonly id?: string; readonly by?: string };

export interface TicketDecision {
  readonly ticket: string;
  readonly decision: DecisionInput;
}

function addressed(parts: RunParts, { ticket, decision }: TicketDecision): AddressedDecision {
  return { target: ticket, decision: { ...decision, id: decisionId(decision.id ?? parts.ids()), decidedAt: parts.clock.now() } };
}

const notFound = (ticket: string) =>
  new AwakenError("ticket_not_found", `no waiting run has the ticket '${ticket}'`, { details: { ticketId: ticket } });

/** The run whose ticket this is. A ticket that was decided already belongs to its run still. */
async function runOfTicket(parts: RunParts, ticket: string): Promise<RunRecord> {
  const runs = (await parts.store?.runs.listByTicket(ticketId(ticket))) ?? [];
  const waiting = runs.filter((run) => run.status === "waiting");
  if (waiting.length > 1) {
    throw new AwakenError("ambiguous_id", `the ticket '${ticket}' is open in ${waiting.length} runs`, { details: { ticketId: ticket } });
  }
  const run = waiting[0] ?? runs[0];
  if (run === undefined) throw notFound(ticket);
  return run;
}

/** Whether each of these decisions was taken before. */
function isDone(run: RunRecord, batch: readonly AddressedDecision[]): boolean {
  return batch.every(({ decision }) => run.decided.some((entry) => entry.decisionId === decision.id));
}

/** Without a store the waiting run is in memory, and the only place to look is there. */
function decideInMemory(parts: RunParts, batch: readonly AddressedDecision[]): void {
  const targets = parts.active.all().filter((run) => run.holds(batch));
  const [run] = targets;
  if (run === undefined) throw notFound(batch[0]?.target ?? "");
  run.send(batch);
}

/**
 * Decides one or more tickets of one run, all or none, and lets the run go on here. Returns when the decisions are taken;
 * `wait` gives the result.
 */
export async function decide(parts: RunParts, decisions: readonly TicketDecision[]): Promise<void> {
  const [first] = decisions;
  if (first === undefined) throw new AwakenError("invalid_activation", "invalid activation: there is no decision");
  const batch = decisions.map((decision) => addressed(parts, decision));
  if (parts.store === undefined) return decideInMemory(parts, batch);
  const run = await runOfTicket(parts, first.ticket);
  if (isDone(run, batch)) return;
  const active = parts.active.byRun(run.runId);
  if (active !== undefined) return active.send(batch);
  if (run.status !== "waiting") {
    throw new AwakenError("ticket_not_open", `the ticket '${first.ticket}' of run '${run.runId}' is not open any more`, {
      details: { ticketId: first.ticket, runId: run.runId },
    });
  }
  await startRun(parts, { thread: run.threadId }, { type: "resume", runId: run.runId, decisions: batch }, undefined).begun;
}

const terminationOf = (run: RunRecord): Termination => {
  if (run.status === "done") return run.outcome.termination;
  return run.status === "waiting" && run.waiting.reason === "awaiting-tasks" ? { type: "natural-end" } : { type: "suspended" };
};

function recordedResult(run: RunRecord): LoopResult {
  const outcome = run.status === "done" ? run.outcome : undefined;
  return {
    runId: run.runId,
    threadId: run.threadId,
    text: outcome?.response ?? "",
    status: run.status,
    termination: terminationOf(run),
    steps: run.steps,
    usage: run.usage ?? NO_USAGE,
    tickets: run.status === "waiting" ? run.waiting.tickets : [],
    output: outcome?.output satisfies JsonValue | undefined,
  };
}

/** The result of a run: when it is over or waits. A run that no one executes is answered from its record. */
export async function wait(parts: RunParts, id: string): Promise<LoopResult> {
  const active = parts.active.byRun(id);
  if (active?.result !== undefined) return active.result;
  const run = await parts.store?.runs.load(toRunId(id));
  if (run === undefined) throw new AwakenError("run_not_found", `run not found: ${id}`, { details: { runId: id } });
  return recordedResult(run);
}

/** True when a run was found and told to stop. An id that names two runs stops none. */
export function cancel(parts: RunParts, id: string): boolean {
  const found = parts.active.find(id);
  if (found.type === "ambiguous") parts.log.warn(`cancel: '${id}' names two runs, none is cancelled`);
  if (found.type !== "found") return false;
  found.run.controller.abort(new AwakenError("cancelled", "the run was cancelled"));
  return true;
}

/** Cancels and waits until the thread is free. False when there is no run, or it did not stop in time. */
export async function cancelAndWait(parts: RunParts, id: string, timeoutMs: number): Promise<boolean> {
  const found = parts.active.find(id);
  if (found.type !== "found") return false;
  cancel(parts, id);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const stop = parts.clock.timer(timeoutMs, () => resolve(false));
  void found.run.released.then(() => resolve(true));
  const isReleased = await promise;
  stop();
  return isReleased;
}

/** Puts messages into a run that is active. False when there is none, or it is over. */
export function send(parts: RunParts, id: string, input: RunRequest["input"]): boolean {
  const found = parts.active.find(id);
  const messages = toMessages(input, parts.ids);
  if (found.type !== "found" || messages.length === 0) return false;
  return found.run.inbox.push({ type: "messages", messages });
}

/** Goes on with a run that was cut off. A run that is over, or waits for a decision, has nothing to go on with. */
export async function resume(parts: RunParts, id: string): Promise<LoopResult> {
  const run = await parts.store?.runs.load(toRunId(id));
  if (run === undefined) throw new AwakenError("run_not_found", `run not found: ${id}`, { details: { runId: id } });
  if (run.status === "done" || (run.status === "waiting" && run.waiting.tickets.length > 0)) {
    throw new AwakenError("invalid_resume", `invalid resume: run '${id}' is ${run.status}`, { details: { runId: id, status: run.status } });
  }
  return startRun(parts, { thread: run.threadId }, { type: "resume", runId: run.runId, decisions: [] }, undefined).result;
}
