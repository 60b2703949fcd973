import { AwakenError, type MessageId, type RunId, type RunRecord, runId, type ThreadId, threadId, ticketId } from "@awaken/contract";
import type { AddressedDecision } from "../loop/run-context.ts";
import type { ActiveRun } from "./active-runs.ts";
import { wait } from "./control.ts";
import { readDecisions, type TicketDecision } from "./decision-input.ts";
import type { RunParts } from "./run-parts.ts";
import { resumeOrder } from "./run-request.ts";
import { followRun, type RunStream, recordedRun } from "./run-stream.ts";
import { beginRun } from "./stream-run.ts";

/** Decisions about tickets of one run. */
interface Batch {
  readonly ticket: string;
  readonly decisions: readonly AddressedDecision[];
  /** A run id or a thread id, when the caller named the run. */
  readonly run: string | undefined;
}

const ambiguous = (id: string, why: string) => new AwakenError("ambiguous_id", why, { details: { id } });

/** What closed the ticket instead of a decision, if something did. */
const closedBy = ({ decided }: RunRecord, ticket: string): MessageId | undefined =>
  decided.find((entry) => entry.ticketId === ticket)?.closedBy;

function notOpen(ticket: string, run: RunRecord): AwakenError {
  const { runId } = run;
  const by = closedBy(run, ticket);
  if (by === undefined) {
    const why = `the ticket '${ticket}' of run '${runId}' is not open any more`;
    return new AwakenError("ticket_not_open", why, { details: { ticketId: ticket, runId } });
  }
  const why = `the ticket '${ticket}' of run '${runId}' was closed by the message '${by}'; if its call had been started, reconcile puts on record what became of it`;
  return new AwakenError("ticket_not_open", why, { details: { ticketId: ticket, runId, closedBy: by } });
}

function readBatch(parts: RunParts, decisions: readonly TicketDecision[]): Batch {
  const read = readDecisions(decisions, parts.ids, parts.clock);
  const [first] = read;
  if (first === undefined) throw new AwakenError("invalid_activation", "invalid activation: there is no decision");
  const named = new Set(decisions.flatMap(({ decision }) => decision.run ?? []));
  if (named.size > 1) throw new AwakenError("invalid_activation", "invalid activation: the decisions of a batch are about one run");
  return { ticket: first.target, decisions: read, run: [...named][0] };
}

/**
 * Decides one or more tickets of one run, all or none, and lets the run go on here. Gives the run when the decisions are on record, or,
 * for calls that do not wait yet, when they are kept.
 */
export async function decide(parts: RunParts, given: readonly TicketDecision[]): Promise<RunStream> {
  const batch = readBatch(parts, given);
  let lost: AwakenError | undefined;
  for (;;) {
    const active = activeRun(parts, batch);
    if (active !== undefined) {
      const run = followActive(parts, active);
      if (batch.run !== undefined && !active.holds(batch.decisions)) {
        active.send(batch.decisions);
        return run;
      }
      await refuseOthers(parts, batch, active);
      if (await active.offer(batch.decisions)) return run;
      continue;
    }
    const record = await findRecord(parts, batch, lost);
    const busy = parts.active.byRun(record.runId) ?? parts.active.onThread(record.threadId);
    if (closedBy(record, batch.ticket) !== undefined && !isOpen(record, batch.ticket)) throw notOpen(batch.ticket, record);
    if (isDone(record, batch.decisions)) return busy?.runId === record.runId ? followActive(parts, busy) : recorded(parts, record);
    if (busy !== undefined) {
      const run = followActive(parts, busy);
      if (await busy.offer(batch.decisions)) return run;
      continue;
    }
    const taken = await resumeWith(parts, record, batch);
    if (!AwakenError.is(taken)) return taken;
    lost = taken;
  }
}

const recorded = (parts: RunParts, run: { readonly runId: RunId; readonly threadId: ThreadId }): RunStream =>
  recordedRun(run, () => wait(parts, run.runId));

const followActive = (parts: RunParts, run: ActiveRun): RunStream =>
  run.result === undefined ? recorded(parts, run) : followRun(run, run.result);

/** The active run that the batch is for: the one that is named, or the one that has an open ticket of it. */
function activeRun(parts: RunParts, { ticket, decisions, run }: Batch): ActiveRun | undefined {
  if (run !== undefined) {
    const found = parts.active.find(run);
    if (found.type === "ambiguous") throw ambiguous(run, `'${run}' names two runs`);
    return found.type === "found" ? found.run : undefined;
  }
  const holding = parts.active.holding(decisions);
  if (holding.length > 1) throw ambiguous(ticket, `the ticket '${ticket}' is open in ${holding.length} runs`);
  return holding[0];
}

const isOpen = (run: RunRecord, ticket: string): boolean =>
  run.status === "waiting" && run.waiting.tickets.some((open) => open.id === ticket || open.toolCallId === ticket);

/** The ticket of an active run may be that of a run that waits, too: then nobody knows which is meant. */
async function refuseOthers(parts: RunParts, { ticket, run: named }: Batch, active: ActiveRun): Promise<void> {
  if (named !== undefined) return;
  const runs = await parts.records.runs.listByTicket(ticketId(ticket));
  if (runs.some((run) => run.runId !== active.runId && isOpen(run, ticket)))
    throw ambiguous(ticket, `the ticket '${ticket}' is open in two runs`);
}

/** The run whose ticket this is. A ticket that was decided already belongs to its run still. */
async function findRecord(parts: RunParts, { ticket, run: named }: Batch, lost: AwakenError | undefined): Promise<RunRecord> {
  const runs = named === undefined ? await parts.records.runs.listByTicket(ticketId(ticket)) : await namedRuns(parts, named, ticket);
  const waiting = runs.filter((run) => isOpen(run, ticket));
  if (waiting.length > 1) throw ambiguous(ticket, `the ticket '${ticket}' is open in ${waiting.length} runs`);
  const run = waiting[0] ?? runs[0];
  if (run !== undefined) return run;
  // The run had the ticket a moment ago: somebody else executes it now.
  if (lost !== undefined) throw lost;
  throw new AwakenError("ticket_not_found", `no waiting run has the ticket '${ticket}'`, { details: { ticketId: ticket } });
}

const hasTicket = (run: RunRecord, ticket: string): boolean =>
  isOpen(run, ticket) || run.decided.some((entry) => entry.ticketId === ticket);

/** Vendors repeat the ids of calls, so that more runs may have the ticket than a store lists: the named one is looked up by its name. */
async function namedRuns({ records }: RunParts, named: string, ticket: string): Promise<readonly RunRecord[]> {
  const onThread = await records.threads.loadCheckpoint(threadId(named));
  const runs = [await records.runs.load(runId(named)), onThread?.openRun, onThread?.latestRun];
  return runs
    .filter((run) => run !== undefined)
    .filter((run, index, all) => hasTicket(run, ticket) && all.findIndex((one) => one.runId === run.runId) === index);
}

/** Whether each of these decisions was taken before. */
function isDone(run: RunRecord, batch: readonly AddressedDecision[]): boolean {
  return batch.every(({ decision }) => run.decided.some((entry) => entry.decisionId === decision.id));
}

/** Takes the run up with the decisions. Gives the error when somebody else was faster: then there is more to know about it. */
async function resumeWith(parts: RunParts, run: RunRecord, { ticket, decisions }: Batch): Promise<RunStream | AwakenError> {
  if (!isOpen(run, ticket)) throw notOpen(ticket, run);
  try {
    const { run: active, result, begun } = beginRun(parts, resumeOrder(run, decisions));
    const stream = followRun(active, result);
    await begun;
    return stream;
  } catch (thrown) {
    if (AwakenError.is(thrown) && thrown.code === "thread_already_running") return thrown;
    throw thrown;
  }
}
