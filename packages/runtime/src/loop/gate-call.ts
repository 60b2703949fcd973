import { errorMessage, type ToolResult, type Validated } from "@awaken/contract";
import { effectKey } from "@awaken/contract/store";
import type { OpenEntry } from "../commit/run-ledger.ts";
import { type Late, whenThere } from "../stream/door.ts";
import { toolFailure } from "../tool/execute.ts";
import type { PreparedCall, Tool } from "../tool/tool.ts";
import { type Gated, inputOf, type LiveCall, type ReadyCall } from "./live-call.ts";
import { prepareCall } from "./prepare-call.ts";
import type { RunContext } from "./run-context.ts";

export const answered = (live: LiveCall, result: ToolResult): Gated => ({
  type: "allowed",
  call: { ...live, reply: { result, command: undefined } },
});

/**
 * Plugins' gates first, then the tool's own `approve` on the checked input; a plugin's refusal needs no second opinion. A call that may
 * have had its effect already is past its gates: first it is found out what became of it.
 */
export function gateCall(ctx: RunContext, live: LiveCall): Late<Gated> {
  const claim = ctx.ledger?.unknownOf(live);
  return claim === undefined ? passGates(ctx, live) : findOutcomeFirst(ctx, live, claim);
}

async function findOutcomeFirst(ctx: RunContext, live: LiveCall, claim: OpenEntry): Promise<Gated> {
  // Whoever read the claim has loaded it.
  return (await ctx.seldom.here.findOutcome(ctx, live, claim)) ?? passGates(ctx, live);
}

const ask = (ctx: RunContext, live: LiveCall, tool: Tool | undefined, begun?: Promise<Validated<PreparedCall>>): Late<Gated> =>
  whenThere(ctx.seldom.open(), ({ askGates }) => askGates(ctx, live, tool, begun));

/** Without a promise when there is nobody to ask. */
function passGates(ctx: RunContext, live: LiveCall): Late<Gated> {
  const tool = ctx.active.tools.get(live.call.name);
  if (ctx.active.plan.env.gates.length > 0 || tool === undefined || tool.traits.canApprove) return ask(ctx, live, tool);
  try {
    const checked = prepareCall(ctx, tool, inputOf(live));
    if (!(checked instanceof Promise)) return admit(ctx, live, tool, checked);
    // It may fail before there is somebody to wait for it: that is told then.
    checked.catch(() => {});
    return ask(ctx, live, tool, checked);
  } catch (thrown) {
    return refusedByTool(live, thrown);
  }
}

export function readyCall(ctx: RunContext, live: LiveCall, tool: Tool, prepared: PreparedCall): ReadyCall {
  const { ledger, identity, scopeId } = ctx;
  const idempotencyKey = ledger?.keyOf(live) ?? effectKey(identity.runId, live.messageId, live.call.id, scopeId);
  return { ...live, tool, prepared, idempotencyKey };
}

export function admit(ctx: RunContext, live: LiveCall, tool: Tool, checked: Validated<PreparedCall>): Gated {
  if (checked.type === "invalid") return answered(live, toolFailure("invalid_arguments", checked.message));
  return { type: "allowed", call: readyCall(ctx, live, tool, checked.value) };
}

/** The tool's own checks are the tool's code: it does not run, and the model reads why. */
export const refusedByTool = (live: LiveCall, thrown: unknown): Gated => answered(live, toolFailure("internal", errorMessage(thrown)));
