import type { InferenceRequest } from "@awaken/contract";
import { seldom } from "../prompt/seldom-door.ts";
import type { RunContext } from "./run-context.ts";

/** A request that was refused as too long is sent once more without its oldest messages, and those of the run behind it are as short. */
export async function shrink(ctx: RunContext, refused: InferenceRequest): Promise<InferenceRequest | undefined> {
  const { shrinkRequest, fitMessages } = await seldom.open();
  const { plan } = ctx.active;
  const shrunk = shrinkRequest(refused, plan.model);
  if (shrunk === undefined) return undefined;
  const { tokens, request } = shrunk;
  ctx.log.warn("a request was too long for the model: it is sent once more without what is older", {
    runId: ctx.identity.runId,
    messages: refused.messages.length,
    kept: request.messages.length,
  });
  ctx.active.requestLimit = { plan, fit: (messages) => fitMessages(messages, tokens) };
  return request;
}
