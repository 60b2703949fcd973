import { AwakenError, type RunId, runId, ticketId } from "@awaken/contract";
import { LOCAL_PROFILE } from "../backend/profile.ts";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import { keepForStep } from "../loop/decisions/early-decisions.ts";
import { isKnown } from "../loop/decisions/take-decisions.ts";
import type { RunContext } from "../loop/run-context.ts";
import type { ActiveRun } from "./active-runs.ts";
import { followActive, recorded } from "./followed-run.ts";
import { hasTicket } from "./known-tickets.ts";
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
  if (found.type === "found" && !found.run.runIds.some((id) => id === named)) return undefined;
  if (await isOfChild(parts, named, decisions)) return undefined;
  return found.type === "none" ? keepThere(parts, runId(named), decisions) : keepHere(parts, found.run, decisions);
}

/** Whether one of them is about a ticket of a run that this one is the root of. */
async function isOfChild({ records }: RunParts, named: string, decisions: readonly AddressedDecision[]): Promise<boolean> {
  const found = await Promise.all(decisions.map(({ target }) => records.runs.listByTicket(ticketId(target))));
  return found.flat().some(({ rootRunId }) => rootRunId === named);
}

/** The run is not executed here. Undefined: nobody executes it, it has parked or ended, or its record knows what they are about. */
async function keepThere(parts: RunParts, named: RunId, decisions: readonly AddressedDecision[]): Promise<RunStream | undefined> {
  const { holds, records } = parts;
  const run = holds === undefined ? undefined : await records.runs.load(named);
  if (holds === undefined || run?.status !== "running" || decisions.some((addressed) => hasTicket(run, addressed))) return undefined;
  return (await holds.keep(run, decisions)) ? recorded(parts, run) : undefined;
}

/** Whoever decides about an agent that runs elsewhere, while it runs, is told when nobody listens there. */
function checkListening({ active: { plan }, identity: { runId: id } }: RunContext): void {
  const { decisions } = plan.backend?.profile ?? LOCAL_PROFILE;
  if (!decisions.startsWith("live"))
    throw new AwakenError("channel_closed", `run '${id}' takes no decisions while it runs`, { details: { runId: id } });
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
