import { type UseChatHelpers, useChat } from "@ai-sdk/react";
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from "ai";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { CHAT, client, loadMessages, stopAnswer, wordsOf } from "./api.ts";
import { type Answer, ToolCall } from "./tool-call.tsx";

const SUGGESTIONS = [
  "Where are orders 1041 and 1042?",
  "Please refund order 1041",
  "Ask billing to correct invoice 2210",
  "How do returns work?",
];

const transport = new DefaultChatTransport<UIMessage>({ api: CHAT, body: { agentId: "desk" } });

type Desk = UseChatHelpers<UIMessage>;

const COME_BACK_MS = 1_000;

/** With what is on record, and with what did not get there before the connection was lost: a message comes with its id, so it is stored once. */
async function comeBack(thread: string, { messages, setMessages, sendMessage, resumeStream, clearError }: Desk): Promise<void> {
  const stored = await loadMessages(thread);
  const last = messages.at(-1);
  clearError();
  setMessages(stored);
  if (last?.role === "user" && !stored.some(({ id }) => id === last.id)) return sendMessage(last);
  await resumeStream();
  setMessages(await loadMessages(thread));
}

/** Whether the connection was lost; as long as it is, the page tries to come back. */
function useComingBack(thread: string, desk: Desk): boolean {
  // Browsers say it so, and nothing else.
  const isLost = desk.error instanceof TypeError;
  const latest = useRef(desk);
  latest.current = desk;
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (!isLost) return;
    const timer = setTimeout(() => comeBack(thread, latest.current).catch(() => setAttempt(attempt + 1)), COME_BACK_MS);
    return () => clearTimeout(timer);
  }, [isLost, attempt, thread]);
  return isLost;
}

function useDesk(thread: string, initial: UIMessage[]) {
  const chat = useChat<UIMessage>({
    id: thread,
    messages: initial,
    // An answer that is being written comes again, from its start.
    resume: true,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const isLost = useComingBack(thread, chat);
  /** With another input than the model's: a verb of the runtime. What becomes of it is read as after a reload. */
  const approveWith = async (ticket: string, input: Answer["input"]) => {
    if (input === undefined) return;
    for await (const { type } of await client.decide(ticket, { action: "approve", input })) if (type === "run-start") break;
    await chat.resumeStream();
    chat.setMessages(await loadMessages(thread));
  };
  const answer = async ({ id, approved, input }: Answer) => {
    if (input === undefined) await chat.addToolApprovalResponse({ id, approved });
    else await approveWith(id, input);
  };
  return { ...chat, answer, isLost };
}

function MessageView({ message, onAnswer }: { readonly message: UIMessage; readonly onAnswer: (answer: Answer) => Promise<void> }) {
  return (
    <article className={message.role} data-role={message.role}>
      {message.parts.map((part, index) => {
        if (isToolUIPart(part)) return <ToolCall key={part.toolCallId} part={part} onAnswer={onAnswer} />;
        return part.type === "text" && part.text !== "" ? <p key={index}>{part.text}</p> : null;
      })}
    </article>
  );
}

function Notice({ error, isLost }: { readonly error: Error | undefined; readonly isLost: boolean }) {
  if (error === undefined) return null;
  return isLost ? (
    <p className="note" role="status">
      The connection was lost. Coming back…
    </p>
  ) : (
    <p className="problem" role="alert">
      {wordsOf(error)}
    </p>
  );
}

export function Chat({ thread, messages: initial }: { readonly thread: string; readonly messages: UIMessage[] }) {
  const { messages, status, error, sendMessage, answer, isLost } = useDesk(thread, initial);
  const [draft, setDraft] = useState("");
  const end = useRef<HTMLDivElement>(null);
  const isBusy = status === "submitted" || status === "streaming";
  const isAsked = messages.at(-1)?.parts.some((part) => isToolUIPart(part) && part.state === "approval-requested") === true;
  useEffect(() => {
    // It may be a promise, which is no effect to undo.
    if (messages.length > 0) void end.current?.scrollIntoView({ block: "end" });
  }, [messages, error]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (draft.trim() === "" || isBusy) return;
    void sendMessage({ text: draft });
    setDraft("");
  };
  return (
    <>
      <main aria-busy={isBusy}>
        {messages.length > 0 ? null : (
          <section className="welcome">
            <h2>How can we help?</h2>
            {SUGGESTIONS.map((text) => (
              <button type="button" key={text} onClick={() => void sendMessage({ text })}>
                {text}
              </button>
            ))}
          </section>
        )}
        {messages.map((message) => (
          <MessageView key={message.id} message={message} onAnswer={answer} />
        ))}
        {status === "submitted" ? <p className="typing">One moment…</p> : null}
        <Notice error={error} isLost={isLost} />
        <div ref={end} />
      </main>
      <form className="composer" onSubmit={submit}>
        <input
          value={draft}
          onChange={(event) => setDraft(event.target.value)}
          placeholder={isAsked ? "Something else?" : "Write a message"}
          aria-label="Message"
        />
        {isBusy ? (
          <button type="button" onClick={() => void stopAnswer(thread)}>
            Stop
          </button>
        ) : (
          <button type="submit" className="primary">
            Send
          </button>
        )}
      </form>
    </>
  );
}
