import { errorMessage, type Message, messageId, runId, threadId } from "@awaken/contract";
import { openThread } from "../builtin/background/tenant-work.ts";
import type { AgentMessageRequest } from "../loop/message-sink.ts";
import type { RunParts } from "./run-parts.ts";
import { startRun } from "./start-run.ts";

/**
 * Where there is no queue: a run that is at work on the thread reads the message, one that waits does when it goes on, and else one is
 * started that answers it. The same id twice is one message.
 */
export async function deliverHere(parts: RunParts, request: AgentMessageRequest): Promise<string> {
  const { messageId: id, recipientThreadId, recipientAgentId, senderAgentId, message } = request;
  const { active, records, tasks, log } = parts;
  const thread = threadId(recipientThreadId);
  const said: Message = { id: messageId(id), role: "user", content: [{ type: "text", text: message }], metadata: { senderAgentId } };
  const head = await records.threads.loadHead(thread);
  if (head?.messages.some((entry) => entry.message.id === said.id) === true) return id;
  if (active.onThread(thread)?.inbox.tryPush({ type: "messages", messages: [said] }) === true) return id;
  const open = head?.openRun;
  if (open?.status === "waiting") {
    openThread(tasks, thread).keep(said);
    return id;
  }
  const { result } = startRun(parts, {
    threadId: thread,
    intent: { type: "new", runId: runId(`durable-msg-${id}`) },
    agentId: recipientAgentId ?? undefined,
    input: [said],
    namedMessages: [],
    trace: { origin: "internal" },
    options: {},
  });
  result.catch((thrown: unknown) => log.error(`a message of an agent was not answered: ${errorMessage(thrown)}`, { threadId: thread }));
  return id;
}
