import { CopilotChat, CopilotKit, useConfigureSuggestions, useDefaultRenderTool, useInterrupt } from "@copilotkit/react-core/v2";
import { useState } from "react";
import { createRoot } from "react-dom/client";
import "@copilotkit/react-core/v2/styles.css";
import "./style.css";
import { Approval } from "./approval.tsx";
import { ToolCall } from "./tool-call.tsx";

const AGENT = "desk";
const SUGGESTIONS = [
  { title: "Where are my orders?", message: "Where are orders 1041 and 1042?" },
  { title: "Refund order 1041", message: "Please refund order 1041" },
  { title: "Correct invoice 2210", message: "Ask billing to correct invoice 2210" },
  { title: "How do returns work?", message: "How do returns work?" },
];

/** The address names the thread, so that a page can be loaded again. */
function threadOf(): string {
  const named = location.hash.slice(1);
  if (named !== "") return named;
  const thread = crypto.randomUUID();
  history.replaceState(null, "", `#${thread}`);
  return thread;
}

function Desk() {
  const [thread] = useState(threadOf);
  useConfigureSuggestions({ suggestions: SUGGESTIONS, available: "before-first-message", consumerAgentId: AGENT });
  useDefaultRenderTool({ render: (call) => <ToolCall key={call.toolCallId} {...call} /> });
  // Every ticket of the server that is open, also one of a delegate.
  useInterrupt({
    agentId: AGENT,
    render: ({ interrupts, resolve }) => (
      <>
        {interrupts.map((interrupt) => (
          <Approval key={interrupt.id} interrupt={interrupt} onAnswer={(answer) => void resolve(answer, interrupt.id)} />
        ))}
      </>
    ),
  });
  return (
    <CopilotChat
      agentId={AGENT}
      threadId={thread}
      labels={{ welcomeMessageText: "How can we help?", chatInputPlaceholder: "Write a message" }}
    />
  );
}

function App() {
  return (
    <>
      <header>
        <span className="mark" aria-hidden="true" />
        <h1>
          Fjord &amp; Co. <small>Service</small>
        </h1>
      </header>
      {/* Its stop button ends the request: `cancelOnDisconnect` says that the run is meant. */}
      <CopilotKit runtimeUrl="/api/copilotkit" properties={{ cancelOnDisconnect: true }} enableInspector={false}>
        <Desk />
      </CopilotKit>
    </>
  );
}

const place = document.getElementById("app");
if (place !== null) createRoot(place).render(<App />);
