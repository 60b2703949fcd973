import { type AgentEvent, decisionId, type ToolCallState } from "@awaken/contract";
import { decisionTaken } from "../../commit/decision-taken.ts";
import { command } from "../../phase/command.ts";
import { pastTickets } from "../../state/past-tickets.ts";
import { toolCallStates } from "../../state/tool-call-states.ts";
import type { RunContext } from "../run-context.ts";
import { inTurn } from "./desk-turn.ts";
import { EXPIRED, isExpired } from "./expired.ts";
import { decisionDigest } from "./same-decision.ts";

const expiredCalls = ({ state }: RunContext, now: number): readonly ToolCallState[] =>
  (state.get(toolCallStates)?.calls ?? []).filter((call) => isExpired(call, now));

/** What has expired is denied: a run that goes on need not wait for it any more. It is so, and told, when it is on record. */
export async function expireTickets(ctx: RunContext): Promise<void> {
  if (expiredCalls(ctx, ctx.clock.now()).length > 0) await inTurn(ctx, () => expire(ctx));
}

async function expire(ctx: RunContext): Promise<void> {
  const now = ctx.clock.now();
  const change = command();
  const facts: AgentEvent[] = [];
  // Whoever was before in the line may have decided about it, in time.
  for (const call of expiredCalls(ctx, now)) {
    const { suspension } = call;
    if (suspension === undefined) continue;
    const decision = { action: "deny", reason: EXPIRED, id: decisionId(`expired:${suspension.id}`), decidedAt: now } as const;
    const ticket = { ticketId: suspension.id, decisionId: decision.id, toolCallId: call.id, digest: decisionDigest(decision) };
    change.update(toolCallStates, { type: "set", call: { ...call, status: "resuming", decision, updatedAt: now } });
    change.update(pastTickets, { type: "decided", ticket });
    facts.push(decisionTaken(ctx.identity.runId, call, suspension.id, decision));
  }
  if (facts.length === 0) return;
  await ctx.writer.decide({ change, facts });
  for (const fact of facts) ctx.tell(fact);
}
