import {
  type AgentEvent,
  AwakenError,
  type Decided,
  type ErrorCode,
  errorMessage,
  type JsonValue,
  type ToolCallState,
  ticketId,
} from "@awaken/contract";
import { decisionTaken } from "../../commit/decision-taken.ts";
import type { TakenDecisions } from "../../commit/run-writer.ts";
import { canEdit } from "../../commit/tickets.ts";
import { command } from "../../phase/command.ts";
import { pastTickets } from "../../state/past-tickets.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";
import { toolCallStates } from "../../state/tool-call-states.ts";
import { checkJsonSchema } from "../../tool/json-schema.ts";
import type { Tool } from "../../tool/tool.ts";
import type { Activation } from "../activation.ts";
import { prepareCall } from "../prepare-call.ts";
import type { RunContext } from "../run-context.ts";
import type { AddressedDecision } from "./addressed-decision.ts";
import { inTurn } from "./desk-turn.ts";
import { isExpired } from "./expired.ts";
import { decisionDigest, isRepeated } from "./same-decision.ts";

/** A call that waits, or did. The id of a call is good enough while the run has had no other ticket for it. */
function find(calls: readonly ToolCallState[], known: Decided | undefined, { target, isCall }: AddressedDecision): ToolCallState {
  const byTicket = calls.find((call) => call.suspension?.id === target);
  if (byTicket !== undefined) return byTicket;
  const past = [...(known?.entries ?? []), ...(known?.closed ?? [])];
  const details = { target };
  if (past.some((ticket) => ticket.ticketId === target))
    throw new AwakenError("ticket_not_open", `the ticket '${target}' is not open any more`, { details });
  const byCall = isCall ? calls.find((call) => call.id === target) : undefined;
  if (byCall === undefined && isCall && past.some((ticket) => ticket.toolCallId === target))
    throw new AwakenError("ticket_not_open", `the call '${target}' waits for no decision any more`, { details });
  if (byCall === undefined) throw new AwakenError("ticket_not_found", `tool call or suspension ${target} not found`, { details });
  if (byCall.status === "suspended" && past.some((ticket) => ticket.toolCallId === target))
    throw new AwakenError("ambiguous_id", `the run has had another ticket for the call '${target}': say the id of the ticket`, { details });
  return byCall;
}

const refusal = (code: ErrorCode, call: ToolCallState, why: string): AwakenError =>
  new AwakenError(code, `decision about '${call.name}' (${call.suspension?.id ?? call.id}): ${why}`, { details: { toolCallId: call.id } });

const refuse = (call: ToolCallState, why: string): never => {
  throw refusal("invalid_resume", call, why);
};

/** What the tool has against the input. A check that breaks is one that the input has not passed. */
async function problemOf(ctx: RunContext, tool: Tool, input: JsonValue): Promise<string | undefined> {
  try {
    const valid = await prepareCall(ctx, tool, input);
    return valid.type === "invalid" ? valid.message : undefined;
  } catch (thrown) {
    return errorMessage(thrown);
  }
}

/** The mode says what a decision may be: one that becomes the result must bring a result. */
async function check(ctx: RunContext, call: ToolCallState, { decision }: AddressedDecision): Promise<void> {
  if (call.status !== "suspended") {
    throw new AwakenError("ticket_not_open", `tool call ${call.id} is ${call.status} and waits for no decision`, {
      details: { toolCallId: call.id },
    });
  }
  if (isExpired(call, decision.decidedAt)) throw refusal("ticket_expired", call, "the ticket has expired");
  const schema = call.suspension?.responseSchema;
  if (decision.action === "answer" && schema !== undefined) {
    const answered = await checkJsonSchema(schema, decision.result);
    if (answered.type === "invalid") refuse(call, `the answer does not fit its response schema: ${answered.message}`);
  }
  if (decision.action !== "approve") return;
  if (call.resumeMode === "use-decision-as-tool-result") refuse(call, "it needs an answer, there is nothing to run after an approval");
  if (decision.input === undefined) return;
  const { suspension, resumeMode } = call;
  if (suspension !== undefined && !canEdit({ suspension, resumeMode }))
    throw refusal("ticket_not_editable", call, "its input cannot be edited");
  const tool = ctx.active.tools.get(call.name);
  if (tool === undefined) return refuse(call, "the tool does not exist any more");
  const problem = await problemOf(ctx, tool, decision.input);
  if (problem !== undefined) refuse(call, `the edited input does not fit: ${problem}`);
}

/** Nothing has changed yet, and nothing does when one of them is refused. A decision that was taken before is passed over. */
async function judge(ctx: RunContext, batch: readonly AddressedDecision[]): Promise<TakenDecisions> {
  const state = ctx.state.snapshot();
  const known = state.get(pastTickets);
  const entries = [...(known?.entries ?? [])];
  const calls = state.get(toolCallStates)?.calls ?? [];
  const change = command();
  const targets = new Set<string>();
  const facts: AgentEvent[] = [];
  for (const addressed of batch) {
    const { decision } = addressed;
    if (isRepeated(entries, addressed)) continue;
    const call = find(calls, known, addressed);
    if (targets.has(call.id)) refuse(call, "two decisions in one batch");
    targets.add(call.id);
    await check(ctx, call, addressed);
    change.update(toolCallStates, { type: "set", call: { ...call, status: "resuming", decision, updatedAt: ctx.clock.now() } });
    const ticket = call.suspension?.id ?? ticketId(call.id);
    const entry = { ticketId: ticket, decisionId: decision.id, toolCallId: call.id, digest: decisionDigest(decision) };
    change.update(pastTickets, { type: "decided", ticket: entry });
    entries.push(entry);
    facts.push(decisionTaken(ctx.identity.runId, call, ticket, decision));
  }
  return { change, facts };
}

function apply(ctx: RunContext, { change, facts }: TakenDecisions): void {
  ctx.state.commit(change);
  for (const fact of facts) ctx.writer.stage(fact);
  ctx.desk.untold = [...ctx.desk.untold, ...facts];
}

/** Takes all of them or none, before the run begins or where it stops: they ride in the next commit. */
export const applyDecisions = (ctx: RunContext, batch: readonly AddressedDecision[]): Promise<void> =>
  inTurn(ctx, async () => apply(ctx, await judge(ctx, batch)));

/**
 * Before the run begins: takes the decisions that it is resumed with. Throws, with nothing changed, when one of them does not fit:
 * the run stays as it was, waiting.
 */
export async function takeSeededDecisions(ctx: RunContext, { seededDecisions }: Pick<Activation, "seededDecisions">): Promise<void> {
  if (seededDecisions.length > 0) await applyDecisions(ctx, seededDecisions);
}

/** It is told to stop, or a hook has ended it: it follows no decision any more. */
const isLeaving = ({ desk, signal, state }: RunContext): boolean =>
  desk.isClosed || signal.aborted || state.get(runLifecycle)?.status === "done";

/**
 * Takes all of them or none while the run is active, whatever it is doing. They are on record when this is true; false: the run is leaving
 * without them. Throws, with nothing changed, when one of them is refused or they cannot be written.
 */
export function takeDecisions(ctx: RunContext, batch: readonly AddressedDecision[]): Promise<boolean> {
  return inTurn(ctx, async () => {
    if (isLeaving(ctx)) return false;
    const judged = await judge(ctx, batch);
    if (isLeaving(ctx)) return false;
    if (judged.facts.length > 0) await ctx.writer.decide(judged);
    for (const fact of judged.facts) ctx.tell(fact);
    return true;
  });
}

/** Whether it is about a call that has begun and may still come to ask. */
export function isUnderWay({ state }: Pick<RunContext, "state">, { target, isCall }: AddressedDecision): boolean {
  const call = isCall
    ? state
        .snapshot()
        .get(toolCallStates)
        ?.calls.find(({ id }) => id === target)
    : undefined;
  return call?.status === "new" || call?.status === "running";
}

/** Whether the run has, or had, a ticket or a call under this name: a decision about it need not be kept. */
export function isKnown({ state }: Pick<RunContext, "state">, { target, isCall }: AddressedDecision): boolean {
  const snapshot = state.snapshot();
  const calls = snapshot.get(toolCallStates)?.calls ?? [];
  const known = snapshot.get(pastTickets);
  const past = [...(known?.entries ?? []), ...(known?.closed ?? [])];
  return (
    calls.some((call) => call.suspension?.id === target || (isCall && call.id === target)) ||
    past.some((ticket) => ticket.ticketId === target || (isCall && ticket.toolCallId === target))
  );
}
