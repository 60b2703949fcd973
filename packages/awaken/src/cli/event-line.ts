import type { AgentEvent } from "@awaken/contract";
import { resumedText, retryText } from "./chat/tool-text.ts";
import { brief } from "./printable.ts";

const MAX_DETAIL = 160;

/** `answeredCall` is the one whose result a person gave: its tool did not run. */
const resumedEnd = (
  { outcome, toolCallId }: Extract<AgentEvent, { type: "tool-call-resumed" }>,
  answeredCall: string | undefined,
): string => (outcome === "succeeded" && toolCallId === answeredCall ? "answered" : outcome);

/** What one line says of an event; undefined when it is not worth one. A new type of event does not compile until somebody said so. */
export function eventLine(event: AgentEvent, answeredCall: string | undefined): string | undefined {
  switch (event.type) {
    case "tool-call-ready":
      return `${event.toolName} ${brief(JSON.stringify(event.input), MAX_DETAIL)}`;
    case "tool-call-end":
      return `${event.toolName} ${event.outcome}`;
    case "tool-call-resumed":
      return `${event.toolName} ${resumedEnd(event, answeredCall)} ${brief(resumedText(event), MAX_DETAIL)}`.trimEnd();
    case "inference-retry":
      return retryText(event);
    case "stream-reset":
      return `the model starts this answer again: ${event.reason}`;
    case "run-retry":
      return `the run is tried again (attempt ${event.attempt}): ${event.reason}`;
    case "child-start":
      return `${event.agentPath.join(" > ")} begins`;
    case "child-end":
      return `${event.agentPath.join(" > ")} ${event.outcome.status}`;
    case "outcome-found":
      return `${event.toolName} turned out to be ${event.found}`;
    case "thread-rewound":
      return `the thread was rewound to before message ${event.messageId}`;
    case "run-start":
    case "run-end":
    case "input-accepted":
    case "step-start":
    case "step-end":
    case "text-delta":
    case "reasoning-delta":
    case "reasoning-encrypted-value":
    case "tool-call-start":
    case "tool-call-delta":
    case "tool-call-run":
    case "tool-call-stream-delta":
    case "tool-call-cancel":
    case "ticket-open":
    case "decision-taken":
    case "inference-end":
    case "state-snapshot":
    case "activity-snapshot":
      return undefined;
  }
}
