import { decisionId, type ToolCallState, type ToolResult } from "@awaken/contract";
import { decisionTaken } from "../../commit/canonical-events.ts";
import { command } from "../../phase/command.ts";
import { pastTickets } from "../../state/past-tickets.ts";
import { toolCallStates } from "../../state/tool-call-states.ts";
import { toolFailure } from "../../tool/execute.ts";
import type { RunContext } from "../run-context.ts";
import { decisionDigest } from "./same-decision.ts";

const EXPIRED = "the approval expired: nobody decided in time, and the call did not run";

/** Whether the time is over in which the ticket of a call that waits could be decided. Nobody watches it: whoever comes next finds out. */
export const isExpired = ({ status, suspension }: ToolCallState, at: number): boolean =>
  status === "suspended" && suspension?.expiresAt !== undefined && at >= suspension.expiresAt;

/** What a model reads of a call that nobody decided about in time. */
export const expiredResult = (): ToolResult => toolFailure("denied", EXPIRED, { rejected: true });

/** Denies what has expired: a run that goes on need not wait for it any more. */
export function expireTickets(ctx: RunContext): void {
  const now = ctx.clock.now();
  const calls = ctx.state.snapshot().get(toolCallStates)?.calls ?? [];
  for (const call of calls) {
    const { suspension } = call;
    if (suspension === undefined || !isExpired(call, now)) continue;
    const decision = { action: "deny", reason: EXPIRED, id: decisionId(`expired:${suspension.id}`), decidedAt: now } as const;
    const ticket = { ticketId: suspension.id, decisionId: decision.id, toolCallId: call.id, digest: decisionDigest(decision) };
    ctx.state.commit(
      command()
        .update(toolCallStates, { type: "set", call: { ...call, status: "resuming", decision, updatedAt: now } })
        .update(pastTickets, { type: "decided", ticket }),
    );
    ctx.emit(decisionTaken(call, suspension.id, decision));
  }
}
