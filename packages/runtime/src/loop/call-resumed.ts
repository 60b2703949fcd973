import type { AgentEvent } from "@awaken/contract";
import type { CallEnding, EarlierCall } from "./earlier-call.ts";
import { successText } from "./messages.ts";

function told(ending: CallEnding): Pick<Extract<AgentEvent, { type: "tool-call-resumed" }>, "outcome" | "result" | "message" | "media"> {
  if (ending.type === "denied") {
    return { outcome: "denied", result: { action: "deny", ...(ending.reason === undefined ? {} : { reason: ending.reason }) } };
  }
  if (ending.type !== "success") return { outcome: "failed", result: { error: ending.message ?? "" } };
  const { data, message, metadata = {}, media } = ending;
  const isBare = Object.keys(metadata).length === 0;
  return {
    outcome: "succeeded",
    result: isBare ? data : { data, metadata },
    ...(isBare && message === undefined ? undefined : { message: successText(ending) }),
    ...(media === undefined ? undefined : { media }),
  };
}

/** How it is told that such a call is closed, whoever closes it. */
export function callResumed({ call, messageId, ticketId }: EarlierCall, ending: CallEnding): AgentEvent {
  const ticket = ticketId === undefined ? undefined : { ticketId };
  return { type: "tool-call-resumed", toolCallId: call.id, toolName: call.name, messageId, ...ticket, ...told(ending) };
}
