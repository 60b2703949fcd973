import type { Validated } from "@awaken/contract";
import type { HookScene } from "../phase/hook.ts";
import type { Work } from "../stream/bounds.ts";
import { allow } from "../tool/allow.ts";
import { plainVerdict } from "../tool/plain-verdict.ts";
import { isAnswered, resolveGates } from "../tool/resolve-gates.ts";
import type { PreparedCall, Tool } from "../tool/tool.ts";
import { guessToolKind } from "../tool/tool-kind.ts";
import type { Intercept, Verdict } from "../tool/verdict.ts";
import { admit, answered, refusedByTool } from "./gate-call.ts";
import { type Gated, inputOf, type LiveCall } from "./live-call.ts";
import { prepareCall } from "./prepare-call.ts";
import type { RunContext } from "./run-context.ts";

const scene = (ctx: RunContext): HookScene => ({ ...ctx.active.scene, state: ctx.state.snapshot() });

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

/** `begun`: the check of the input, when it is under way. */
export async function askGates(
  ctx: RunContext,
  live: LiveCall,
  tool: Tool | undefined,
  begun?: Promise<Validated<PreparedCall>>,
): Promise<Gated> {
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
  return admit(ctx, live, tool, checked);
}
