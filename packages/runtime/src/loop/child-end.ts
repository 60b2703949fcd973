import type { ChildEnd } from "./children.ts";
import type { RunContext } from "./run-context.ts";

/** A child that is over is told as such, once: when whoever called it has its result. */
export function tellEnd(ctx: RunContext, { child, ending }: ChildEnd): void {
  if (ending !== undefined) ctx.emit({ type: "child-end", ...child, ...ending });
}
