import type { ToolCallState } from "@awaken/contract";
import { toolCallStates } from "../state/tool-call-states.ts";
import type { RunContext } from "./run-context.ts";

/** Somebody may still decide about it, or it has its turn later. */
export const isOpenCall = ({ status }: ToolCallState): boolean => status === "suspended" || status === "resuming" || status === "new";

export const hasOpenCalls = (ctx: RunContext): boolean => ctx.state.get(toolCallStates)?.calls.some(isOpenCall) === true;

export const hasSuspended = (ctx: RunContext): boolean =>
  ctx.state.get(toolCallStates)?.calls.some((call) => call.status === "suspended") === true;

/** Whether there are calls to go on with: decided ones, and, when nothing waits any more, those that were held behind them. */
export function hasNext(ctx: RunContext): boolean {
  const calls = ctx.state.get(toolCallStates)?.calls;
  if (calls === undefined) return false;
  if (calls.some((call) => call.status === "resuming")) return true;
  return calls.some((call) => call.status === "new") && !calls.some((call) => call.status === "suspended");
}
