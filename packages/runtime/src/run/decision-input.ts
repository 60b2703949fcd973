import { AwakenError, type DecisionAction, decisionId, isJson } from "@awaken/contract";
import type { AddressedDecision } from "../loop/run-context.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";

/** What a user says about a ticket. */
export type DecisionInput = DecisionAction & {
  /** Makes it idempotent: the same id twice decides once. */
  readonly id?: string;
  readonly by?: string;
  /** The active run, or its thread: only needed to decide about a call before it waits. The ticket is then the call's id. */
  readonly run?: string;
};

export interface TicketDecision {
  readonly ticket: string;
  readonly decision: DecisionInput;
}

const refuse = (why: string): never => {
  throw new AwakenError("invalid_activation", `invalid activation: ${why}`);
};

/** Callers without our compiler settings may give `undefined` for what they leave out. */
function readAction(decision: DecisionInput): DecisionAction {
  switch (decision.action) {
    case "approve": {
      const { input } = decision;
      if (input === undefined) return { action: "approve" };
      return isJson(input) ? { action: "approve", input } : refuse("the input of an approval must be JSON");
    }
    case "deny":
      return { action: "deny", ...(decision.reason === undefined ? {} : { reason: decision.reason }) };
    case "answer":
      return isJson(decision.result) ? { action: "answer", result: decision.result } : refuse("an answer needs a result that is JSON");
    default:
      return refuse(`the action of a decision must be approve, deny or answer, got ${JSON.stringify(decision)}`);
  }
}

const isBlank = (text: string): boolean => typeof text !== "string" || text.trim() === "";

/** One or more decisions as the loop takes them. Throws when one of them says nothing that could be applied. */
export function readDecisions(decisions: readonly TicketDecision[], ids: Ids, clock: Clock): readonly AddressedDecision[] {
  return decisions.map(({ ticket, decision }) => {
    const { id = ids(), by } = decision;
    if (isBlank(ticket)) refuse("the ticket of a decision must be a non-blank string");
    if (isBlank(id)) refuse("the id of a decision must be a non-blank string");
    const said = readAction(decision);
    return { target: ticket, decision: { ...said, id: decisionId(id), decidedAt: clock.now(), ...(by === undefined ? {} : { by }) } };
  });
}
