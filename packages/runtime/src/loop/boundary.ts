import type { Boundary } from "@awaken/contract/store";
import { whenThere } from "../stream/door.ts";
import type { RunContext } from "./run-context.ts";

/** Takes in what came since the last boundary. True when the model has something new to read; bookkeeping does not count. */
export function crossBoundary(ctx: RunContext, at: Boundary): boolean | Promise<boolean> {
  return ctx.inbox.size > 0 || ctx.landing.holding?.hasMail ? whenThere(ctx.seldom.open(), ({ takeIn }) => takeIn(ctx, at)) : false;
}
