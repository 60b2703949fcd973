import { freezeJson, type InferenceRequest } from "@awaken/contract";
import type { Inferred } from "../inference/infer.ts";
import { surround } from "../plugin/around.ts";
import type { ToolReply } from "../tool/tool.ts";
import { inputOf, type ReadyCall } from "./live-call.ts";
import type { RunContext } from "./run-context.ts";
import { executeTool } from "./tool-call.ts";

// Work of a run inside of what plugins put around it.

/** It is not on record yet, and may only be looked at. */
function lent<T>(own: T): T {
  freezeJson(own);
  return own;
}

export function askInside(ctx: RunContext, request: InferenceRequest, work: () => Promise<Inferred>): Promise<Inferred> {
  const { env, model } = ctx.active.plan;
  const facts = { ...ctx.active.scene, step: ctx.tally.steps, provider: model.provider, request, models: model.specs };
  return surround(env.arounds.inference, facts, work, { read: ({ turn }) => lent(turn), log: ctx.log });
}

export function executeInside(ctx: RunContext, ready: ReadyCall, done: (reply: ToolReply) => void): void {
  const { resume, isReplay } = ready;
  const facts = { ...ctx.active.scene, step: ctx.tally.steps, call: { ...ready.call, input: inputOf(ready) }, resume, isReplay };
  const work = (traceParent: string | undefined) => new Promise<ToolReply>((resolve) => executeTool(ctx, ready, resolve, traceParent));
  void surround(ctx.active.plan.env.arounds.tool, facts, work, { read: ({ result }) => lent(result), log: ctx.log }).then(done);
}
