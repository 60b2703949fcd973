import { AwakenError, openTicketsOf, type RunId, type RunRecord, runId, ticketId } from "@awaken/contract";
import { LOCAL_PROFILE } from "../backend/local-profile.ts";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import { keepForStep } from "../loop/decisions/keep-for-step.ts";
import { isKnown, isUnderWay } from "../loop/decisions/take-decisions.ts";
import type { RunContext } from "../loop/run-context.ts";
import type { ActiveRun } from "./active-runs.ts";
import { followActive, recorded } from "./followed-run.ts";
import { hasTicket, isBelow, unknownTicket } from "./known-tickets.ts";
import type { RunParts } from "./run-parts.ts";
import type { RunStream } from "./run-stream.ts";

/** Decisions about calls that a run at work does not know yet. Only its own id names it for good: threads see many runs. */
export async function keepEarly(
  parts: RunParts,
  named: string | undefined,
  decisions: readonly AddressedDecision[],
): Promise<RunStream | undefined> {
  if (named === undefined) return undefined;
  const found = parts.active.find(named);
  if (found.type === "ambiguous") throw new AwakenError("ambiguous_id", `'${named}' names two runs`, { details: { id: named } });
  if (found.type === "found" && !found.run.isKnownAs(named)) return undefined;
  const holders = await Promise.all(decisions.map(({ target }) => parts.records.runs.listByTicket(ticketId(target))));
  if (holders.flat().some((run) => isBelow(run, named))) return undefined;
  const isStray = (target: string, runs: readonly RunRecord[] = []) => runs.some((run) => run.runId !== named && isTicketOf(run, target));
  const early = { decisions, stray: decisions.find(({ target }, index) => isStray(target, holders[index])) };
  return found.type === "none" ? keepThere(parts, runId(named), early) : keepHere(parts, found.run, early);
}

/** Decisions that may have to be kept. */
interface Early {
  readonly decisions: readonly AddressedDecision[];
  /** One about a ticket of a run that has nothing to do with the named one: nothing would ever come of it. */
  readonly stray: AddressedDecision | undefined;
}

/** Records from a time when a ticket had the id of its call say nothing: that comes in many runs. */
const isTicketOf = (run: RunRecord, id: string): boolean =>
  [...openTicketsOf(run).map((open) => ({ ...open, ticketId: open.id })), ...run.decided, ...(run.closed ?? [])].some(
    (ticket) => ticket.ticketId === id && ticket.toolCallId !== id,
  );

/** The run is not executed here. Undefined: nobody executes it, it has parked or ended, or its record knows what they are about. */
async function keepThere(parts: RunParts, named: RunId, { decisions, stray }: Early): Promise<RunStream | undefined> {
  const { holds, records } = parts;
  const run = holds === undefined ? undefined : await records.runs.load(named);
  if (holds === undefined || run?.status !== "running" || decisions.some((addressed) => hasTicket(run, addressed))) return undefined;
  if (stray !== undefined) throw unknownTicket(stray.target);
  return (await holds.keep(run, decisions)) ? recorded(parts, run) : undefined;
}

/** Whoever decides about an agent that runs elsewhere, while it runs, is told when nobody listens there. */
function checkListening({ active: { plan }, identity: { runId: id } }: RunContext): void {
  const { decisions } = plan.backend?.profile ?? LOCAL_PROFILE;
  if (!decisions.startsWith("live"))
    throw new AwakenError("channel_closed", `run '${id}' takes no decisions while it runs`, { details: { runId: id } });
}

/** Undefined: it has left, or knows what they are about, and that is over or waits. */
async function keepHere(parts: RunParts, run: ActiveRun, { decisions, stray }: Early): Promise<RunStream | undefined> {
  await run.prepared;
  const { ctx } = run;
  if (ctx === undefined || decisions.some((addressed) => isKnown(ctx, addressed) && !isUnderWay(ctx, addressed))) return undefined;
  if (stray !== undefined) throw unknownTicket(stray.target);
  checkListening(ctx);
  const stream = followActive(parts, run);
  const { holds } = parts;
  const isKept = holds === undefined ? keepForStep(ctx, decisions) : await run.recorded.then(() => holds.keep(run, decisions));
  if (isKept) return stream;
  await run.released;
  return undefined;
}
