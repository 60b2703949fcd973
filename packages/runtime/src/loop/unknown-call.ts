import type { ToolCallState, ToolFailure } from "@awaken/contract";
import type { RunLedger } from "../commit/run-ledger.ts";

/** What a person is asked about when nobody knows whether a call had its effect. */
export const UNKNOWN_OUTCOME = "unknown-outcome";

/** Whether a call that waits, or was decided and not brought to its end, may have had its effect. */
export const isOutcomeLost = (ledger: RunLedger | undefined, call: ToolCallState): boolean =>
  call.suspension?.action === UNKNOWN_OUTCOME || ledger?.unknownOf({ messageId: call.messageId, call }) !== undefined;

/** What a model reads about a call that was started, after somebody has found out that it did not happen. */
export const notDoneResult = (name: string): ToolFailure => ({
  type: "error",
  code: "not_done",
  message: `'${name}' was started and did not happen.`,
});
