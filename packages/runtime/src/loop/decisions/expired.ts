import type { ToolCallState, ToolResult } from "@awaken/contract";
import { toolFailure } from "../../tool/execute.ts";

export const EXPIRED = "the approval expired: nobody decided in time, and the call did not run";

/** Whether the time is over in which the ticket of a call that waits could be decided. Nobody watches it: whoever comes next finds out. */
export const isExpired = ({ status, suspension }: ToolCallState, at: number): boolean =>
  status === "suspended" && suspension?.expiresAt !== undefined && at >= suspension.expiresAt;

/** What a model reads of a call that nobody decided about in time. */
export const expiredResult = (): ToolResult => toolFailure("denied", EXPIRED, { rejected: true });
