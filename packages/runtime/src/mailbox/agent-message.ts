import { AwakenError, type DispatchId, dispatchId, type Message, messageId, runId, threadId } from "@awaken/contract";
import { readRequest } from "../run/run-request.ts";
import { startOrder } from "./submit.ts";
import type { Tenant } from "./tenant.ts";

/** What one agent says to another, on the thread of that one. */
export interface AgentMessage {
  /** Makes it idempotent: the same id twice is one message and one run. */
  readonly messageId: string;
  readonly recipientThreadId: string;
  /** Default: the agent that the thread is with. */
  readonly recipientAgentId?: string | undefined;
  readonly senderAgentId: string;
  readonly text: string;
}

/** The run that answers it, whoever delivers it how often. */
const runOf = (id: string) => runId(`durable-msg-${id}`);

const isThere = (thrown: unknown): boolean =>
  AwakenError.is(thrown) && (thrown.code === "storage_already_exists" || thrown.code === "already_consumed");

/** Durable when it resolves: the message, the run that answers it and its place in the queue are one commit. Gives the dispatch, also the second time. */
export async function sendAgentMessage(tenant: Tenant, message: AgentMessage): Promise<DispatchId> {
  const { queue, ask, ids, clock } = tenant;
  const { recipientThreadId, recipientAgentId: agent, senderAgentId, text } = message;
  const thread = threadId(recipientThreadId);
  const id = runOf(messageId(message.messageId));
  const dispatch = dispatchId(message.messageId);
  const known = await ask("load a run", queue.runs.load(id));
  if (known !== undefined) return known.dispatchId ?? dispatch;
  const said: Message = {
    id: messageId(message.messageId),
    role: "user",
    content: [{ type: "text", text }],
    metadata: { senderAgentId },
  };
  const order = readRequest(
    {
      thread,
      input: text,
      runId: id,
      trace: { origin: "internal" },
      ...(agent === undefined || agent.trim() === "" ? undefined : { agent }),
    },
    ids,
    clock,
  );
  try {
    await startOrder(tenant, { ...order, input: [said] }, { dispatchId: dispatch, onBusy: "queue" });
  } catch (thrown) {
    if (!isThere(thrown) || (await ask("load a run", queue.runs.load(id))) === undefined) throw thrown;
  }
  return dispatch;
}
