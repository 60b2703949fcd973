import { errorMessage, type ToolResult, type Validated } from "@awaken/contract";
import type { OpenEntry } from "../commit/run-ledger.ts";
import type { HookScene } from "../phase/hook.ts";
import type { Work } from "../stream/bounds.ts";
import { toolFailure } from "../tool/execute.ts";
import { isAnswered, resolveGates } from "../tool/gate.ts";
import { plainVerdict } from "../tool/plain.ts";
import type { PreparedCall, Tool } from "../tool/tool.ts";
import { guessToolKind } from "../tool/tool-kind.ts";
import { allow, type Intercept, type Verdict } from "../tool/verdict.ts";
import { type Gated, inputOf, type LiveCall } from "./live-call.ts";
import { prepareCall } from "./prepare-call.ts";
import type { RunContext } from "./run-context.ts";

const scene = (ctx: RunContext): HookScene => ({ ...ctx.active.scene, state: ctx.state.snapshot() });

const answered = (live: LiveCall, result: ToolResult): Gated => ({
  type: "allowed",
  call: { ...live, reply: { result, command: undefined } },
});

async function pluginIntercept(ctx: RunContext, live: LiveCall, tool: Tool | undefined): Promise<Intercept | undefined> {
  const { gates } = ctx.active.plan.env;
  if (gates.length === 0) return undefined;
  const toolKind = tool?.traits.kind ?? guessToolKind(live.call.name);
  const call = { ...live.call, input: inputOf(live) };
  const input = { ...scene(ctx), phase: "toolGate", call, toolKind, resume: live.resume } as const;
  return resolveGates(gates, input, ctx.log, ctx.bounds);
}

async function toolIntercept(ctx: RunContext, live: LiveCall, tool: Tool, prepared: PreparedCall): Promise<Intercept | undefined> {
  if (!tool.traits.canApprove) return undefined;
  const work: Work = { limit: "gateMs", onAbort: "leave", name: () => `\`approve\` of tool '${tool.id}'` };
  const given: Verdict | undefined = await ctx.bounds.wait(prepared.approve(scene(ctx)), work);
  const verdict = plainVerdict(`\`approve\` of tool '${tool.id}'`, given ?? allow());
  return verdict.type === "allow" || isAnswered(live.resume, verdict) ? undefined : verdict;
}

/**
 * Plugins' gates first, then the tool's own `approve` on the checked input; a plugin's refusal needs no second opinion. A call that may
 * have had its effect already is past its gates: first it is found out what became of it.
 */
export function gateCall(ctx: RunContext, live: LiveCall): Gated | Promise<Gated> {
  const claim = ctx.ledger?.unknownOf(live);
  return claim === undefined ? passGates(ctx, live) : findOutcomeFirst(ctx, live, claim);
}

async function findOutcomeFirst(ctx: RunContext, live: LiveCall, claim: OpenEntry): Promise<Gated> {
  const { findOutcome } = await ctx.seldom.open();
  return (await findOutcome(ctx, live, claim)) ?? passGates(ctx, live);
}

/** Without a promise when there is nobody to ask. */
function passGates(ctx: RunContext, live: LiveCall): Gated | Promise<Gated> {
  const tool = ctx.active.tools.get(live.call.name);
  if (ctx.active.plan.env.gates.length > 0 || tool === undefined || tool.traits.canApprove) return askGates(ctx, live, tool);
  try {
    const checked = prepareCall(ctx, tool, inputOf(live));
    return checked instanceof Promise ? askGates(ctx, live, tool, checked) : admit(live, tool, checked);
  } catch (thrown) {
    return refusedByTool(live, thrown);
  }
}

function admit(live: LiveCall, tool: Tool, checked: Validated<PreparedCall>): Gated {
  if (checked.type === "invalid") return answered(live, toolFailure("invalid_arguments", checked.message));
  return { type: "allowed", call: { ...live, tool, prepared: checked.value } };
}

/** The tool's own checks are the tool's code: it does not run, and the model reads why. */
const refusedByTool = (live: LiveCall, thrown: unknown): Gated => answered(live, toolFailure("internal", errorMessage(thrown)));

async function askGates(ctx: RunContext, live: LiveCall, tool: Tool | undefined, begun?: Promise<Validated<PreparedCall>>): Promise<Gated> {
  const intercept = await pluginIntercept(ctx, live, tool);
  if (intercept !== undefined && intercept.type !== "suspend") return { type: "intercepted", intercept };
  if (tool === undefined) {
    if (intercept !== undefined) return { type: "intercepted", intercept };
    return answered(live, { type: "error", code: "not_found", message: `tool '${live.call.name}' not found` });
  }
  try {
    return await gateByTool(ctx, live, tool, intercept, await (begun ?? prepareCall(ctx, tool, inputOf(live))));
  } catch (thrown) {
    return refusedByTool(live, thrown);
  }
}

async function gateByTool(
  ctx: RunContext,
  live: LiveCall,
  tool: Tool,
  intercept: Intercept | undefined,
  checked: Validated<PreparedCall>,
): Promise<Gated> {
  const own = checked.type === "valid" ? await toolIntercept(ctx, live, tool, checked.value) : undefined;
  const strongest = own?.type === "block" || own?.type === "deny" ? own : (intercept ?? own);
  if (checked.type === "valid" && strongest !== undefined) return { type: "intercepted", intercept: strongest };
  return admit(live, tool, checked);
}
