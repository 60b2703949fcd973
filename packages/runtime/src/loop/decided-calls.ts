import type { EditedInput, ToolCallState } from "@awaken/contract";
import { toolCallStates } from "../state/tool-call-states.ts";
import type { RunContext } from "./run-context.ts";

export function callsWith(ctx: RunContext, status: ToolCallState["status"]): readonly ToolCallState[] {
  const calls = ctx.state.get(toolCallStates)?.calls ?? [];
  return calls.filter((call) => call.status === status);
}

/** What whoever approved it put in the place of the input. */
export function editOf({ decision }: ToolCallState): EditedInput | undefined {
  if (decision?.action !== "approve" || decision.input === undefined) return undefined;
  const { input, by } = decision;
  return by === undefined ? { input } : { input, by };
}
