import { AwakenError, type DispatchId, dispatchId, type Message, type MessageId, messageId, runId, threadId } from "@awaken/contract";
import { readRequest } from "../run/run-request.ts";
import { inOne } from "./in-one.ts";
import { placeBehindTickets } from "./send.ts";
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

/** The message waits, or was read. */
export const isThere = (thrown: unknown, id: MessageId): boolean =>
  AwakenError.is(thrown) &&
  (thrown.code === "storage_already_exists" || thrown.code === "already_consumed") &&
  thrown.details["pendingId"] === id;

/**
 * Durable when it resolves: the message, the run that answers it and its place in the queue are one commit. Gives the dispatch, also the
 * second time. Where a run waits for decisions, which are not an agent's to withdraw, the message waits behind them: that run reads it when
 * it goes on, and there is no dispatch.
 */
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
    const isBehind = await inOne(
      tenant,
      "keep a message",
      async (ports) => (await placeBehindTickets(ports, thread, [said])) !== undefined,
    );
    if (!isBehind) await startOrder(tenant, { ...order, input: [said] }, { dispatchId: dispatch, onBusy: "queue" });
  } catch (thrown) {
    if (!isThere(thrown, said.id) && (await ask("load a run", queue.runs.load(id))) === undefined) throw thrown;
  }
  return dispatch;
}
