import type { JsonValue, ToolResult } from "@awaken/contract";
import type { OpenEntry } from "../commit/run-ledger.ts";
import type { PreparedCall, Reconciled, Tool, ToolContext, ToolReply } from "../tool/tool.ts";
import { toolData } from "../tool/tool-data.ts";
import { suspend } from "../tool/verdict.ts";
import { readyCall } from "./gate-call.ts";
import { type Gated, inputOf, type LiveCall } from "./live-call.ts";
import { prepareCall } from "./prepare-call.ts";
import type { RunContext } from "./run-context.ts";
import { executeTool } from "./tool-call.ts";
import { notDoneResult, UNKNOWN_OUTCOME } from "./unknown-call.ts";

const UNKNOWN: Reconciled = { type: "unknown" };

/** Undefined when the tool does not take the input any more. */
async function prepared(ctx: RunContext, tool: Tool, input: JsonValue): Promise<PreparedCall | undefined> {
  try {
    const checked = await prepareCall(ctx, tool, input);
    return checked.type === "valid" ? checked.value : undefined;
  } catch {
    return undefined;
  }
}

const NOTHING: ToolReply = { result: { type: "success", data: null }, command: undefined };

/** Within the limits of a call of the tool: one that throws, hangs or is cancelled does not know. */
async function reconcile(ctx: RunContext, live: LiveCall, tool: Tool, call: PreparedCall): Promise<Reconciled> {
  if (!tool.traits.canReconcile) return UNKNOWN;
  const told: Reconciled["type"][] = [];
  const asked: PreparedCall = {
    input: call.input,
    approve: (scene) => call.approve(scene),
    reconcile: (context) => call.reconcile(context),
    execute: async (context: ToolContext): Promise<ToolReply> => {
      const found = await call.reconcile(context);
      told.push(found.type);
      return found.type === "done" ? { result: { type: "success", data: toolData(tool.id, found.data) }, command: undefined } : NOTHING;
    },
  };
  const { result } = await new Promise<ToolReply>((resolve) => executeTool(ctx, readyCall(ctx, live, tool, asked), resolve));
  const [type = "unknown"] = told;
  if (result.type === "success") return type === "done" ? { type, data: result.data } : { type };
  if (result.type === "error") {
    ctx.log.warn(`reconcile of '${tool.id}' failed: ${result.message}`, { runId: ctx.identity.runId, toolCallId: live.call.id });
  }
  // It happened, even if what it gave cannot be told.
  return type === "done" ? { type, data: null } : UNKNOWN;
}

/** What the tool itself finds out. One that is gone, or does not take the input any more, does not know. */
export async function reconcileCall(ctx: RunContext, live: LiveCall): Promise<Reconciled> {
  const tool = ctx.active.tools.get(live.call.name);
  const call = tool === undefined ? undefined : await prepared(ctx, tool, inputOf(live));
  return tool === undefined || call === undefined ? UNKNOWN : reconcile(ctx, live, tool, call);
}

/** The result of a call that nobody brings to its end any more, as far as its tool can tell. Nothing is run again. */
export async function knownResult(ctx: RunContext, live: LiveCall): Promise<ToolResult | undefined> {
  const found = await reconcileCall(ctx, live);
  if (found.type === "done") return { type: "success", data: found.data };
  return found.type === "not-done" ? notDoneResult(live.call.name) : undefined;
}

/**
 * The same in a run that was told to stop, for calls of a process that is gone. The signal of the run would end the question before it is
 * asked: it has its own, for as long as a tool has to stop.
 */
export async function knownResults(ctx: RunContext, calls: readonly LiveCall[]): Promise<ReadonlyMap<LiveCall, ToolResult>> {
  const known = new Map<LiveCall, ToolResult>();
  if (calls.length === 0) return known;
  const controller = new AbortController();
  const stopTimer = ctx.clock.timer(ctx.cancelGraceMs, () => controller.abort(ctx.signal.reason));
  const asking: RunContext = { ...ctx, signal: controller.signal, cancelGraceMs: 0 };
  for (const [index, result] of (await Promise.all(calls.map((live) => knownResult(asking, live)))).entries()) {
    const live = calls[index];
    if (live !== undefined && result !== undefined) known.set(live, result);
  }
  stopTimer();
  return known;
}

/**
 * A process claimed this call and died before it could tell what became of it. The tool finds out; else it is run again if that does no
 * harm; else a person decides. Undefined: it did not happen, and the call is as good as new.
 */
export async function findOutcome(ctx: RunContext, live: LiveCall, claim: OpenEntry): Promise<Gated | undefined> {
  const tool = ctx.active.tools.get(live.call.name);
  const call = tool === undefined ? undefined : await prepared(ctx, tool, claim.input);
  if (tool !== undefined && call !== undefined) {
    const found = await reconcile(ctx, live, tool, call);
    if (found.type === "not-done") return undefined;
    if (found.type === "done") {
      const result = { type: "success", data: found.data } as const;
      return { type: "allowed", call: { ...live, reply: { result, command: undefined } } };
    }
    if (tool.traits.idempotent || tool.traits.pure) return { type: "allowed", call: readyCall(ctx, live, tool, call) };
  }
  const { idempotencyKey, attempt } = claim;
  return {
    type: "intercepted",
    intercept: suspend({
      action: UNKNOWN_OUTCOME,
      message:
        `'${live.call.name}' was started and its outcome was lost. Find out whether it happened: ` +
        "answer with its result if it did, approve to run it again if it did not, or deny to give it up.",
      parameters: { idempotencyKey, attempt, input: claim.input },
    }),
  };
}
