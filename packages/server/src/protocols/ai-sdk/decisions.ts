import { isJsonObject, type JsonObject, type JsonValue, type Ticket } from "@awaken/contract";
import type { DecisionInput, TicketDecision } from "@awaken/runtime";
import type { ClientMessage } from "./request.ts";
import { errorTextOf } from "./shown-calls.ts";

/** What a part of the client's history says about its call. */
export type Said =
  /** The page ran it. */
  | { readonly type: "output"; readonly toolCallId: string; readonly result: JsonValue }
  | {
      readonly type: "answer";
      readonly toolCallId: string;
      readonly ticketId: string | undefined;
      readonly isApproved: boolean;
      readonly reason?: string;
    };

const isToolPart = ({ type }: JsonObject): boolean => typeof type === "string" && (type.startsWith("tool-") || type === "dynamic-tool");

function readPart(part: JsonObject): Said | undefined {
  const { toolCallId, state, providerExecuted, preliminary, output, errorText, approval } = part;
  if (typeof toolCallId !== "string" || !isToolPart(part)) return undefined;
  if (state === "approval-responded") {
    const { id, approved, reason } = isJsonObject(approval) ? approval : {};
    return {
      type: "answer",
      toolCallId,
      ticketId: typeof id === "string" ? id : undefined,
      isApproved: approved !== false,
      ...(typeof reason === "string" && reason !== "" ? { reason } : undefined),
    };
  }
  // What the server ran is its own to tell.
  if (providerExecuted === true) return undefined;
  if (state === "output-available" && preliminary !== true) return { type: "output", toolCallId, result: output ?? null };
  if (state === "output-error") return { type: "output", toolCallId, result: { error: errorTextOf(errorText ?? null) } };
  if (state === "output-denied") return { type: "answer", toolCallId, ticketId: undefined, isApproved: false };
  return undefined;
}

/** All that the history of a client says about calls: the last word about each stands. */
export function readSaid(messages: readonly ClientMessage[]): readonly Said[] {
  const said = new Map<string, Said>();
  for (const { role, parts } of messages) {
    if (role !== "assistant") continue;
    for (const part of parts) {
      const read = readPart(part);
      if (read !== undefined) said.set(read.toolCallId, read);
    }
  }
  return [...said.values()];
}

/** A tool of the page, or a question that the answer is the result of. */
const isAnswered = ({ resumeMode }: Ticket): boolean => resumeMode !== "replay-tool-call";

function ticketOf(said: Said, tickets: readonly Ticket[], runId: string): Ticket | undefined {
  if (said.type === "answer" && said.ticketId !== undefined) return tickets.find(({ id }) => id === said.ticketId);
  const own = tickets.filter((ticket) => ticket.toolCallId === said.toolCallId && ticket.runId === runId);
  return own.find((ticket) => (said.type === "output" ? isAnswered(ticket) : true));
}

function decisionOf(said: Said, ticket: Ticket): DecisionInput | undefined {
  // The same answer twice decides once, whoever sends it again.
  const id = `ai-sdk:${ticket.id}`;
  if (said.type === "output") return isAnswered(ticket) ? { action: "answer", result: said.result, id } : undefined;
  if (!said.isApproved) return { action: "deny", id, ...(said.reason === undefined ? undefined : { reason: said.reason }) };
  return isAnswered(ticket) ? undefined : { action: "approve", id };
}

/** What is decided about calls that wait now. What the history says of others is no decision, and neither is an input that it changed. */
export function decisionsOf(
  said: readonly Said[],
  tickets: readonly Ticket[],
  runId: string,
): readonly (TicketDecision & { readonly of: Ticket })[] {
  return said.flatMap((each) => {
    const ticket = ticketOf(each, tickets, runId);
    const decision = ticket === undefined ? undefined : decisionOf(each, ticket);
    return ticket === undefined || decision === undefined ? [] : [{ ticket: ticket.id, decision, of: ticket }];
  });
}
