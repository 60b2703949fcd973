import { AwakenError, errorMessage, type JsonValue, type ToolCallState, ticketId } from "@awaken/contract";
import { command } from "../phase/command.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import type { Tool } from "../tool/tool.ts";
import { type DecisionFact, decisionFact } from "./canonical-events.ts";
import { decided } from "./decided.ts";
import { prepareCall } from "./prepare-call.ts";
import type { AddressedDecision, RunContext } from "./run-context.ts";

function find(calls: readonly ToolCallState[], target: string): ToolCallState {
  const found = calls.find((call) => call.suspension?.id === target) ?? calls.find((call) => call.id === target);
  if (found !== undefined) return found;
  throw new AwakenError("ticket_not_found", `tool call or suspension ${target} not found`, { details: { target } });
}

const refuse = (call: ToolCallState, why: string): never => {
  throw new AwakenError("invalid_resume", `decision about '${call.name}' (${call.suspension?.id ?? call.id}): ${why}`, {
    details: { toolCallId: call.id },
  });
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
  if (decision.action !== "approve") return;
  if (call.resumeMode === "use-decision-as-tool-result") refuse(call, "it needs an answer, there is nothing to run after an approval");
  if (decision.input === undefined) return;
  const tool = ctx.active.tools.get(call.name);
  if (tool === undefined) return refuse(call, "the tool does not exist any more");
  const problem = await problemOf(ctx, tool, decision.input);
  if (problem !== undefined) refuse(call, `the edited input does not fit: ${problem}`);
}

/** Applies all of them or none. A decision whose id was taken before changes nothing. True when something changed. */
export async function applyDecisions(ctx: RunContext, batch: readonly AddressedDecision[]): Promise<boolean> {
  const state = ctx.state.snapshot();
  const taken = new Set(state.get(decided)?.entries.map((entry) => entry.decisionId));
  const calls = state.get(toolCallStates)?.calls ?? [];
  const change = command();
  const targets = new Set<string>();
  const facts: DecisionFact[] = [];
  for (const addressed of batch) {
    const { decision } = addressed;
    if (taken.has(decision.id)) continue;
    taken.add(decision.id);
    const call = find(calls, addressed.target);
    if (targets.has(call.id)) refuse(call, "two decisions in one batch");
    targets.add(call.id);
    await check(ctx, call, addressed);
    change.update(toolCallStates, { type: "set", call: { ...call, status: "resuming", decision, updatedAt: ctx.clock.now() } });
    const ticket = call.suspension?.id ?? ticketId(call.id);
    change.update(decided, { ticketId: ticket, decisionId: decision.id });
    facts.push(decisionFact(call, ticket, decision));
  }
  ctx.state.commit(change);
  for (const fact of facts) ctx.checkpoints.stage(fact);
  return targets.size > 0;
}
