import {
  checkOptions,
  copyJson,
  type DecisionAction,
  decisionId,
  describeType,
  isJson,
  isJsonObject,
  type JsonObject,
  needed,
  type PartRules,
  RULES,
  reading,
} from "@awaken/contract";
import type { AddressedDecision } from "../loop/decisions/addressed-decision.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import { INVALID, refuse } from "./refuse-request.ts";

/** What a user says about a ticket. */
export type DecisionInput = DecisionAction & {
  /** Makes it idempotent: the same id twice decides once. With another content it is refused as `decision_conflict`. */
  readonly id?: string;
  /** Who decides; kept on record. */
  readonly by?: string;
  /** For plugins, kept with the decision: whether it is to be remembered, what signed it. */
  readonly metadata?: JsonObject;
  /**
   * The run that it is about, by its id: then the ticket may also be the id of a call, which may not even wait yet. A ticket that names
   * itself needs no run; with one, or the id of its thread, it has to be of that run.
   */
  readonly run?: string;
};

export interface TicketDecision {
  /** The id of the ticket, or of its call together with its run. */
  readonly ticket: string;
  /** What is decided about it. */
  readonly decision: DecisionInput;
}

const DECISION: PartRules<AnyDecision> = {
  action: needed(RULES.oneOf("approve", "deny", "answer")),
  input: RULES.any,
  reason: RULES.text,
  result: RULES.any,
  id: RULES.name,
  by: RULES.text,
  metadata: RULES.any,
  run: RULES.name,
};

/** Every field that one of the three has. */
type AnyDecision = { readonly [Name in DecisionInput extends infer D ? (D extends D ? keyof D : never) : never]: unknown };

const TICKET_DECISION: PartRules<TicketDecision> = { ticket: needed(RULES.name), decision: RULES.any };

/** Copies: what callers do to their own later is not decided. Those without our compiler settings may give `undefined` for what they leave out. */
function readAction(decision: DecisionInput): DecisionAction {
  switch (decision.action) {
    case "approve": {
      const { input } = decision;
      if (input === undefined) return { action: "approve" };
      return isJson(input) ? { action: "approve", input: copyJson(input) } : refuse("the input of an approval must be JSON");
    }
    case "deny":
      return { action: "deny", ...(decision.reason === undefined ? {} : { reason: decision.reason }) };
    case "answer":
      return isJson(decision.result)
        ? { action: "answer", result: copyJson(decision.result) }
        : refuse("an answer needs a result that is JSON");
  }
}

const readDecision = ({ ticket, decision }: TicketDecision, ids: Ids, clock: Clock): Omit<AddressedDecision, "isCall"> => {
  const { id = ids(), by, metadata } = decision;
  const said = readAction(decision);
  if (metadata !== undefined && !(isJson(metadata) && isJsonObject(metadata)))
    return refuse("the metadata of a decision must be a JSON object");
  const more = { ...(by === undefined ? {} : { by }), ...(metadata === undefined ? {} : { metadata: copyJson(metadata) }) };
  return { target: ticket, decision: { ...said, id: decisionId(id), decidedAt: clock.now(), ...more } };
};

/** One or more decisions as the loop takes them. Throws when one of them says nothing that could be applied. */
export function readDecisions(
  decisions: readonly TicketDecision[],
  ids: Ids,
  clock: Clock,
  isRunNamed: boolean,
): readonly AddressedDecision[] {
  return reading(INVALID, "invalid activation: a decision", () => {
    if (!Array.isArray(decisions)) return refuse(`decisions must be a list, got ${describeType(decisions)}`);
    return decisions.map((given) => {
      checkOptions(INVALID, "a decision of a list", given, TICKET_DECISION);
      checkOptions(INVALID, "a decision", given.decision, DECISION);
      return { ...readDecision(given, ids, clock), isCall: isRunNamed };
    });
  });
}
