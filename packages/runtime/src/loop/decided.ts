import {
  AwakenError,
  type ClosedTicket,
  type Decided,
  type DecidedTicket,
  decidedSchema,
  type MessageId,
  type ToolCallState,
} from "@awaken/contract";
import { defineRuntimeState } from "../state/key.ts";
import type { AddressedDecision } from "./addressed-decision.ts";
import { decisionDigest } from "./decision-digest.ts";

export type DecidedUpdate =
  | { readonly type: "decided"; readonly ticket: DecidedTicket }
  /** Nobody can decide about it any more. */
  | { readonly type: "closed"; readonly ticket: ClosedTicket };

/** What became of the tickets of this run that are not open any more. */
export const decided = defineRuntimeState("decided", {
  merge: "commutative",
  schema: decidedSchema,
  initial: (): Decided => ({ entries: [] }),
  apply: (value, { type, ticket }: DecidedUpdate): Decided =>
    type === "decided" ? { ...value, entries: [...value.entries, ticket] } : { ...value, closed: [...(value.closed ?? []), ticket] },
});

/** What is on record of a call that nobody can decide about any more; nothing when it has been decided. */
export function closedTicket({ status, suspension, id }: ToolCallState, closedBy?: MessageId): readonly ClosedTicket[] {
  if (status !== "suspended" || suspension === undefined) return [];
  return [{ ticketId: suspension.id, toolCallId: id, ...(closedBy === undefined ? {} : { closedBy }) }];
}

const conflict = ({ decision, target }: AddressedDecision, ticketId: string): AwakenError =>
  new AwakenError("decision_conflict", `the decision '${decision.id}' was taken before with another content`, {
    details: { decisionId: decision.id, target, ticketId },
  });

/** Whether the decision is one of these once more. Throws when its id is known and it says something else, or about another ticket. */
export function isRepeated(entries: readonly DecidedTicket[], addressed: AddressedDecision): boolean {
  const { decision, target, isCall } = addressed;
  const before = entries.find((entry) => entry.decisionId === decision.id);
  if (before === undefined) return false;
  const isSameTicket = before.ticketId === target || (isCall && (before.toolCallId ?? target) === target);
  const isSame = isSameTicket && (before.digest === undefined || before.digest === decisionDigest(decision));
  if (!isSame) throw conflict(addressed, before.ticketId);
  return true;
}
