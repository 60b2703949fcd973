import type { ThreadHead } from "@awaken/contract/store";
import type { ThreadHistory } from "../activation.ts";
import type { RunRecords } from "../run-records.ts";

const NOTHING: readonly never[] = Object.freeze([]);

/** What the ledger has open of the run that goes on, and the view with the step that was cut off. */
export type OpenWork = Pick<ThreadHistory, "messages" | "cutCalls" | "ledger">;

/** Of a run that begins. */
export const noWork = ({ ledger }: RunRecords, head: ThreadHead | undefined): OpenWork => ({
  messages: head?.messages ?? NOTHING,
  cutCalls: NOTHING,
  ledger: ledger && NOTHING,
});
