import { AwakenError } from "@awaken/contract";

const REFUSALS: ReadonlySet<string> = new Set([
  "ticket_not_open",
  "ticket_not_found",
  "ticket_not_editable",
  "ticket_expired",
  "invalid_resume",
  "decision_conflict",
  "ambiguous_id",
]);

/** Whether a decision can never be followed, whoever tries. */
export const isRefusal = (thrown: unknown): thrown is AwakenError => AwakenError.is(thrown) && REFUSALS.has(thrown.code);
