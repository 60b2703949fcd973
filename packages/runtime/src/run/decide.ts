import { AwakenError, type RunRecord, runId, threadId, ticketId } from "@awaken/contract";
import { sameJson } from "@awaken/contract/store";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import { isRepeated } from "../loop/decisions/same-decision.ts";
import { takeDecisions } from "../loop/decisions/take-decisions.ts";
import { resumeOrder } from "../loop/resume-order.ts";
import { storedCalls } from "../state/tool-call-states.ts";
import type { ActiveRun } from "./active-runs.ts";
import { beginRun } from "./begin-run.ts";
import { isOrphan } from "./called-run.ts";
import { cancel } from "./control.ts";
import { readDecisions, type TicketDecision } from "./decision-input.ts";
import { followFamily } from "./follow-family.ts";
import { counted, followActive, recorded } from "./followed-run.ts";
import type { Holds } from "./holds.ts";
import { keepEarly } from "./keep-early.ts";
import { hasTicket, isBelow, isOpen, notOpen, tooLate, unknownTicket } from "./known-tickets.ts";
import type { RunParts } from "./run-parts.ts";
import type { RunStream } from "./run-stream.ts";
import { followRun } from "./stream-of-run.ts";

/** Decisions about tickets of one run. */
interface RunDecisions {
  readonly first: AddressedDecision;
  readonly decisions: readonly AddressedDecision[];
  /** A run id or a thread id, when the caller named the run. */
  readonly run: string | undefined;
}

const ambiguous = (id: string, why: string) => new AwakenError("ambiguous_id", why, { details: { id } });

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
    const early = await keepEarly(parts, asked.run, asked.decisions);
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

/** The run whose tickets these are. A ticket that is not open any more belongs to its run still; one that nobody knows is for the run to refuse. */
async function findRecord(
  parts: RunParts,
  { first, decisions, run: named }: RunDecisions,
  lost: AwakenError | undefined,
): Promise<RunRecord> {
  for (const addressed of decisions) {
    const { target } = addressed;
    const runs = named === undefined ? await parts.records.runs.listByTicket(ticketId(target)) : await namedRuns(parts, named, addressed);
    const open = runs.filter((run) => isOpen(run, addressed));
    // Only of records from a time when a ticket had the id of its call.
    if (open.length > 1) throw ambiguous(target, `the ticket '${target}' is open in ${open.length} runs`);
    const run = open[0] ?? runs[0];
    if (run !== undefined) return run;
  }
  // The run had the ticket a moment ago: somebody else executes it now.
  if (lost !== undefined) throw lost;
  throw unknownTicket(first.target);
}

/** The id of a call is only good together with that of its run: on a thread it comes again and again. */
async function namedRuns({ records }: RunParts, named: string, asked: AddressedDecision): Promise<readonly RunRecord[]> {
  const run = await records.runs.load(runId(named));
  const onThread = await records.threads.loadHead(threadId(named));
  const ofThread = [onThread?.openRun, onThread?.latestRun, ...(await records.runs.listByTicket(ticketId(asked.target)))]
    .filter((each) => each !== undefined)
    .filter((each) => (each.threadId === named || isBelow(each, named)) && hasTicket(each, { ...asked, isCall: false }));
  const found = run !== undefined && hasTicket(run, asked) ? [run, ...ofThread] : ofThread;
  return found.filter((each, index) => found.findIndex((one) => one.runId === each.runId) === index);
}

/** Whether each of these decisions was taken before. Throws when one of them says something else under an id that was taken. */
function isDone(run: RunRecord, asked: readonly AddressedDecision[]): boolean {
  return asked.filter((addressed) => !isRepeated(run.decided, addressed)).length === 0;
}

/** The first that was not taken before. */
const nextOf = ({ decided }: RunRecord, { first, decisions }: RunDecisions): AddressedDecision =>
  decisions.find((addressed) => !isRepeated(decided, addressed)) ?? first;

/** Takes the run up with the decisions. Gives the error when somebody else was faster: then there is more to know about it. */
async function resumeWith(parts: RunParts, run: RunRecord, asked: RunDecisions): Promise<RunStream | AwakenError> {
  const next = nextOf(run, asked);
  const isMixed = !hasTicket(run, next) && asked.decisions.some((addressed) => isOpen(run, addressed));
  if (!isOpen(run, next)) throw isMixed ? await notWaiting(parts, run, next) : tooLate(run, next);
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

/** None of them is taken when one is about a call that is at work, or that nobody knows: whoever executes the run says the same. */
async function notWaiting({ records }: RunParts, { threadId: thread, runId: id }: RunRecord, { target }: AddressedDecision) {
  const call = storedCalls((await records.threads.loadHead(thread))?.state).find((each) => each.id === target);
  if (call === undefined) return unknownTicket(target);
  const details = { toolCallId: call.id, runId: id };
  return new AwakenError("ticket_not_open", `tool call ${call.id} is ${call.status} and waits for no decision`, { details });
}

/** Another process executes the run. Gives the error when the run has moved on: then there is more to know about it. */
async function decideThere(parts: RunParts, holds: Holds, run: RunRecord, { decisions }: RunDecisions): Promise<RunStream | AwakenError> {
  let left = decisions.filter((addressed) => !isRepeated(run.decided, addressed));
  while (left.length > 0) {
    try {
      await holds.decide(run, left);
      break;
    } catch (thrown) {
      if (!AwakenError.is(thrown)) throw thrown;
      if (thrown.code === "illegal_transition" || thrown.code === "run_not_found") return thrown;
      // The same decision was taken meanwhile, by whoever made it first; one that says something else under its id is refused.
      const known = thrown.code === "ticket_not_open" ? thrown.details["decisionId"] : undefined;
      const others = left.filter(({ decision }) => decision.id !== known);
      if (others.length === left.length) throw thrown;
      const now = await parts.records.runs.load(run.runId);
      for (const each of left) if (!others.includes(each)) isRepeated(now?.decided ?? [], each);
      left = others;
    }
  }
  return recorded(parts, run);
}
