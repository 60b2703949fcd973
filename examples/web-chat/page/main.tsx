import type { UIMessage } from "ai";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { loadMessages } from "./api.ts";
import { Chat } from "./chat.tsx";

interface Conversation {
  readonly thread: string;
  readonly messages: UIMessage[];
}

/** The address names the thread, so that a page can be loaded again, or sent to somebody. */
async function openConversation(): Promise<Conversation> {
  const named = location.hash.slice(1);
  if (named !== "") return { thread: named, messages: await loadMessages(named) };
  const thread = crypto.randomUUID();
  history.replaceState(null, "", `#${thread}`);
  return { thread, messages: [] };
}

function App() {
  const [conversation, setConversation] = useState<Conversation | undefined>();
  const [problem, setProblem] = useState<string | undefined>();
  useEffect(() => {
    const open = () => openConversation().then(setConversation, (thrown: Error) => setProblem(thrown.message));
    void open();
    addEventListener("hashchange", open);
    return () => removeEventListener("hashchange", open);
  }, []);
  return (
    <>
      <header>
        <span className="mark" aria-hidden="true" />
        <h1>
          Fjord &amp; Co. <small>Service</small>
        </h1>
        <button type="button" className="quiet" onClick={() => location.assign("#")}>
          New conversation
        </button>
      </header>
      {problem === undefined ? null : <p className="problem">{problem}</p>}
      {conversation === undefined ? null : <Chat key={conversation.thread} {...conversation} />}
    </>
  );
}

const place = document.getElementById("app");
if (place !== null) {
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
