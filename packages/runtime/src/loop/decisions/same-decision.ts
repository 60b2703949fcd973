import { AwakenError, type DecidedTicket, type Decision, type DecisionAction, isJsonObject, type JsonValue } from "@awaken/contract";
import type { AddressedDecision } from "./addressed-decision.ts";

/** The same text for the same JSON, whatever the order of its fields. */
function canonical(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name] ?? null)}`).join(",")}}`;
}

const SEEDS = [0x9e3779b9, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f] as const;

/** 128 bits of a text, to tell one from another; it keeps no secret. */
function digest(text: string): string {
  return SEEDS.map((seed) => {
    let hash = seed ^ text.length;
    for (let index = 0; index < text.length; index++) {
      hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193 + (seed & 0xfffe));
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash ^ (hash >>> 16), seed | 1);
    return ((hash ^ (hash >>> 13)) >>> 0).toString(16).padStart(8, "0");
  }).join("");
}

/** What a decision says, so that a repeated one can be told from another one under the same id. Who decided, and when, does not count. */
export function decisionDigest(decision: DecisionAction & Pick<Decision, "metadata">): string {
  const more = decision.metadata === undefined ? "" : ` ${canonical(decision.metadata)}`;
  switch (decision.action) {
    case "approve":
      return digest(`approve ${decision.input === undefined ? "" : canonical(decision.input)}${more}`);
    case "deny":
      return digest(`deny ${decision.reason ?? ""}${more}`);
    case "answer":
      return digest(`answer ${canonical(decision.result)}${more}`);
  }
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
