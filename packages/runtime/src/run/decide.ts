import {
  AwakenError,
  type MessageId,
  openTicketsOf,
  type RunId,
  type RunRecord,
  runId,
  type ThreadId,
  threadId,
  ticketId,
} from "@awaken/contract";
import { sameJson } from "@awaken/contract/store";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import { checkListening, keepForStep } from "../loop/decisions/early-decisions.ts";
import { isRepeated } from "../loop/decisions/same-decision.ts";
import { isKnown, takeDecisions } from "../loop/decisions/take-decisions.ts";
import type { LoopOutcome, LoopResult } from "../loop/finish.ts";
import { resumeOrder } from "../loop/run-order.ts";
import type { ActiveRun } from "./active-runs.ts";
import { isOrphan } from "./called-run.ts";
import { cancel } from "./control.ts";
import { readDecisions, type TicketDecision } from "./decision-input.ts";
import { withFamily } from "./family-usage.ts";
import { followFamily } from "./follow-family.ts";
import type { Holds } from "./holds.ts";
import type { RunParts } from "./run-parts.ts";
import { followRun, type RunStream, recordedRun } from "./run-stream.ts";
import { followed } from "./settled.ts";
import { beginRun } from "./start-run.ts";
import { wait } from "./wait.ts";

/** Decisions about tickets of one run. */
interface RunDecisions {
  readonly first: AddressedDecision;
  readonly decisions: readonly AddressedDecision[];
  /** A run id or a thread id, when the caller named the run. */
  readonly run: string | undefined;
}

const ambiguous = (id: string, why: string) => new AwakenError("ambiguous_id", why, { details: { id } });

/** What closed the ticket instead of a decision, if something did. */
const closedBy = ({ closed = [] }: RunRecord, ticket: string): MessageId | undefined =>
  closed.find((entry) => entry.ticketId === ticket)?.closedBy;

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

const unknownTicket = (ticket: string) =>
  new AwakenError("ticket_not_found", `no run has the ticket '${ticket}'`, { details: { ticketId: ticket } });

/** It may be alive in another process, or cut off: only whoever started it knows. */
const isElsewhere = (ticket: string, { runId, threadId }: RunRecord) =>
  new AwakenError(
    "thread_already_running",
    `the ticket '${ticket}' is open, but run '${runId}' is executed by another process; if that one is gone, resume the run first`,
    { details: { ticketId: ticket, runId, threadId } },
  );

function readAsked(parts: RunParts, given: readonly TicketDecision[]): RunDecisions {
  const read = readDecisions(given, parts.ids, parts.clock, false);
  const named = new Set(given.flatMap(({ decision }) => decision.run ?? []));
  if (named.size > 1)
    throw new AwakenError("invalid_activation", "invalid activation: decisions that are given together are about one run");
  const [run] = named;
  const decisions = run === undefined ? read : read.map((addressed) => ({ ...addressed, isCall: true }));
  const [first] = decisions;
  if (first === undefined) throw new AwakenError("invalid_activation", "invalid activation: there is no decision");
  return { first, decisions, run };
}

/**
 * Decides one or more tickets of one run, all or none, and lets the run go on here. Gives the run when the decisions are on record, or,
 * for calls that do not wait yet, when they are kept.
 */
export async function decide(parts: RunParts, given: readonly TicketDecision[]): Promise<RunStream> {
  const asked = readAsked(parts, given);
  let lost: AwakenError | undefined;
  let seen: RunRecord | undefined;
  for (;;) {
    const early = await keepEarly(parts, asked);
    if (early !== undefined) return early;
    const record = await findRecord(parts, asked, lost);
    const active = parts.active.byRun(record.runId) ?? parts.active.onThread(record.threadId);
    if (active !== undefined) {
      const taken = await decideActive(parts, active, record, asked);
      if (taken !== undefined) return followFamily(parts, record, taken);
      continue;
    }
    if (isDone(record, asked.decisions)) return followFamily(parts, record, recorded(parts, record));
    // The run may have left while its record was read: only one that stands still is executed elsewhere.
    if (record.status === "running" && (seen === undefined || !sameJson(record, seen))) {
      seen = record;
      continue;
    }
    const resumed = await resumeWith(parts, record, asked);
    if (!AwakenError.is(resumed)) return followFamily(parts, record, resumed);
    lost = resumed;
  }
}

const recorded = (parts: RunParts, run: { readonly runId: RunId; readonly threadId: ThreadId }): RunStream =>
  recordedRun(run, () => wait(parts, run.runId));

const counted = async (parts: RunParts, result: Promise<LoopOutcome>): Promise<LoopResult> =>
  withFamily(parts, await followed(parts, result));

const followActive = (parts: RunParts, run: ActiveRun): RunStream =>
  run.result === undefined ? recorded(parts, run) : followRun(run, counted(parts, run.result));

/** Decisions about calls that a run at work does not know yet. Only its own id names it for good: threads see many runs. */
async function keepEarly(parts: RunParts, { decisions, run: named }: RunDecisions): Promise<RunStream | undefined> {
  if (named === undefined) return undefined;
  const found = parts.active.find(named);
  if (found.type === "ambiguous") throw ambiguous(named, `'${named}' names two runs`);
  if (found.type === "none") return keepThere(parts, runId(named), decisions);
  if (!found.run.runIds.some((id) => id === named)) return undefined;
  return keepHere(parts, found.run, decisions);
}

/** The run is not executed here. Undefined: nobody executes it, it has parked or ended, or its record knows what they are about. */
async function keepThere(parts: RunParts, named: RunId, decisions: readonly AddressedDecision[]): Promise<RunStream | undefined> {
  const { holds, records } = parts;
  const run = holds === undefined ? undefined : await records.runs.load(named);
  if (holds === undefined || run?.status !== "running" || decisions.some((addressed) => hasTicket(run, addressed))) return undefined;
  return (await holds.keep(run, decisions)) ? recorded(parts, run) : undefined;
}

/** Undefined: it has left, or knows what they are about. */
async function keepHere(parts: RunParts, run: ActiveRun, decisions: readonly AddressedDecision[]): Promise<RunStream | undefined> {
  await run.prepared;
  const { ctx } = run;
  if (ctx === undefined || decisions.some((addressed) => isKnown(ctx, addressed))) return undefined;
  checkListening(ctx);
  const stream = followActive(parts, run);
  const { holds } = parts;
  const isKept = holds === undefined ? keepForStep(ctx, decisions) : await run.recorded.then(() => holds.keep(run, decisions));
  if (isKept) return stream;
  await run.released;
  return undefined;
}

/** Undefined: the thread is free, and the record knows more. */
async function decideActive(parts: RunParts, active: ActiveRun, record: RunRecord, asked: RunDecisions): Promise<RunStream | undefined> {
  await active.prepared;
  if (active.runId !== record.runId) return decideBeside(parts, active, asked);
  if (active.ctx !== undefined) {
    const run = followActive(parts, active);
    const taken = await takeDecisions(active.ctx, asked.decisions).catch((thrown: unknown) =>
      ifLost(
        thrown,
        parts,
        active,
        asked.decisions.some((addressed) => isOpen(record, addressed)),
      ),
    );
    if (taken === true) return run;
    if (taken === "elsewhere" && parts.holds !== undefined) {
      const there = await decideThere(parts, parts.holds, record, asked);
      if (!AwakenError.is(there)) return there;
    }
  }
  await active.released;
  return undefined;
}

/**
 * Another process has the run by now: this one leaves, and the decision goes there. What a process knows that stood still for longer than its
 * lease may be old: a ticket that is on record, and that it has never heard of, is one that its successor opened.
 */
async function ifLost(thrown: unknown, { holds }: RunParts, active: ActiveRun, isOnRecord: boolean): Promise<false | "elsewhere"> {
  if (!AwakenError.is(thrown)) throw thrown;
  if (thrown.code === "fence_lost") return false;
  const isOld = thrown.code === "ticket_not_found" && isOnRecord && holds !== undefined && !(await holds.isHeld(active));
  if (!isOld) throw thrown;
  return "elsewhere";
}

/** Another run has the thread. What it left open has to wait for it; whoever comes too late need not. */
async function decideBeside(parts: RunParts, active: ActiveRun, asked: RunDecisions): Promise<RunStream | undefined> {
  const record = await findRecord(parts, asked, undefined);
  if (asked.decisions.some((addressed) => isOpen(record, addressed))) {
    await active.released;
    return undefined;
  }
  if (isDone(record, asked.decisions)) return recorded(parts, record);
  throw tooLate(record, nextOf(record, asked));
}

const isOpen = (run: RunRecord, { target, isCall }: AddressedDecision): boolean =>
  openTicketsOf(run).some((open) => open.id === target || (isCall && open.toolCallId === target));

/** Whether the record knows what it is about, open or not. */
export function hasTicket(run: RunRecord, addressed: AddressedDecision): boolean {
  const { target, isCall } = addressed;
  const past = [...run.decided, ...(run.closed ?? [])];
  return isOpen(run, addressed) || past.some((ticket) => ticket.ticketId === target || (isCall && ticket.toolCallId === target));
}

/** The run whose ticket this is. A ticket that is not open any more belongs to its run still. */
async function findRecord(parts: RunParts, { first, run: named }: RunDecisions, lost: AwakenError | undefined): Promise<RunRecord> {
  const ticket = first.target;
  const runs = named === undefined ? await parts.records.runs.listByTicket(ticketId(ticket)) : await namedRuns(parts, named, first);
  const open = runs.filter((run) => isOpen(run, first));
  // Only of records from a time when a ticket had the id of its call.
  if (open.length > 1) throw ambiguous(ticket, `the ticket '${ticket}' is open in ${open.length} runs`);
  const run = open[0] ?? runs[0];
  if (run !== undefined) return run;
  // The run had the ticket a moment ago: somebody else executes it now.
  if (lost !== undefined) throw lost;
  throw unknownTicket(ticket);
}

/** The id of a call is only good together with that of its run: on a thread it comes again and again. */
async function namedRuns({ records }: RunParts, named: string, first: AddressedDecision): Promise<readonly RunRecord[]> {
  const run = await records.runs.load(runId(named));
  const onThread = await records.threads.loadHead(threadId(named));
  const ofThread = [onThread?.openRun, onThread?.latestRun, ...(await records.runs.listByTicket(ticketId(first.target)))]
    .filter((each) => each !== undefined)
    .filter((each) => (each.threadId === named || each.rootRunId === named) && hasTicket(each, { ...first, isCall: false }));
  const found = run !== undefined && hasTicket(run, first) ? [run, ...ofThread] : ofThread;
  return found.filter((each, index) => found.findIndex((one) => one.runId === each.runId) === index);
}

/** Whether each of these decisions was taken before. Throws when one of them says something else under an id that was taken. */
function isDone(run: RunRecord, asked: readonly AddressedDecision[]): boolean {
  return asked.filter((addressed) => !isRepeated(run.decided, addressed)).length === 0;
}

/** The first that was not taken before. */
const nextOf = ({ decided }: RunRecord, { first, decisions }: RunDecisions): AddressedDecision =>
  decisions.find((addressed) => !isRepeated(decided, addressed)) ?? first;

const tooLate = (run: RunRecord, addressed: AddressedDecision): AwakenError =>
  hasTicket(run, addressed) ? notOpen(addressed.target, run) : unknownTicket(addressed.target);

/** Takes the run up with the decisions. Gives the error when somebody else was faster: then there is more to know about it. */
async function resumeWith(parts: RunParts, run: RunRecord, asked: RunDecisions): Promise<RunStream | AwakenError> {
  const next = nextOf(run, asked);
  if (!isOpen(run, next)) throw tooLate(run, next);
  if (await isOrphan(run, (id) => parts.records.runs.load(id))) {
    await cancel(parts, run.runId);
    throw notOpen(next.target, run);
  }
  // Without holds nobody can tell a process that is gone from one that is at work.
  if (run.status !== "waiting" && parts.holds === undefined) throw isElsewhere(next.target, run);
  try {
    const { run: active, result, begun } = beginRun(parts, resumeOrder(run, asked.decisions));
    const stream = followRun(active, counted(parts, result));
    await begun;
    return stream;
  } catch (thrown) {
    // Fenced off: somebody else took it up at the same moment.
    if (!AwakenError.is(thrown) || (thrown.code !== "thread_already_running" && thrown.code !== "fence_lost")) throw thrown;
    return parts.holds === undefined || isHere(parts, run) ? thrown : decideThere(parts, parts.holds, run, asked);
  }
}

const isHere = ({ active }: RunParts, { runId, threadId }: RunRecord): boolean =>
  active.byRun(runId) !== undefined || active.onThread(threadId) !== undefined;

/** Another process executes the run. Gives the error when the run has moved on: then there is more to know about it. */
async function decideThere(parts: RunParts, holds: Holds, run: RunRecord, { decisions }: RunDecisions): Promise<RunStream | AwakenError> {
  let left = decisions.filter((addressed) => !isRepeated(run.decided, addressed));
  while (left.length > 0) {
    try {
      await holds.decide(run, left);
      break;
    } catch (thrown) {
      if (!AwakenError.is(thrown)) throw thrown;
      if (thrown.code === "illegal_transition") return thrown;
      // The same decision was taken meanwhile, by whoever made it first.
      const known = thrown.code === "ticket_not_open" ? thrown.details["decisionId"] : undefined;
      const others = left.filter(({ decision }) => decision.id !== known);
      if (others.length === left.length) throw thrown;
      left = others;
    }
  }
  return recorded(parts, run);
}
