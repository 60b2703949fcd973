import { AwakenError, errorMessage, type RunIdentity } from "@awaken/contract";
import type { AgentMessageRequest, MessageSink } from "../../loop/message-sink.ts";
import type { MessageReceipt, MessageRecipient } from "../../tool/messages.ts";
import type { Tasks } from "../../tool/tasks.ts";

export interface SendScene {
  readonly identity: RunIdentity;
  readonly tasks: Tasks;
  /** Who says it. */
  readonly agentId: string;
  /** Of this message; the same for every attempt of the call. */
  readonly messageId: () => string;
  /** `outbox`: it is put on record here and delivered after the commit. `direct`: it is delivered during the call. */
  readonly delivery:
    | { readonly type: "outbox"; queue(request: AgentMessageRequest): void }
    | { readonly type: "direct"; readonly sink: MessageSink };
}

const failed = (error: string): MessageReceipt => ({ status: "failed", messageId: "", error });

/** What the reasons of `task_unreachable` are to whoever sent something. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  "not-found": "recipient_not_found",
  "not-owner": "permission_denied",
};

/** A task of this thread that runs: by its id, else by its name. */
async function toChild({ tasks, messageId }: SendScene, name: string, message: string): Promise<MessageReceipt> {
  const running = tasks.list().filter(({ status }) => status === "running");
  const child = running.find(({ taskId }) => taskId === name) ?? running.find((task) => task.name === name);
  if (child === undefined) return failed("recipient_not_found");
  try {
    await tasks.send(child.taskId, message);
    return { status: "accepted", messageId: messageId() };
  } catch (thrown) {
    if (!AwakenError.is(thrown) || thrown.code !== "task_unreachable") return failed(`transport_failed: ${errorMessage(thrown)}`);
    return failed(UNREACHABLE[String(thrown.details["reason"])] ?? "recipient_unavailable");
  }
}

async function toThread(scene: SendScene, thread: string, agentId: string | null, message: string): Promise<MessageReceipt> {
  const { delivery, agentId: senderAgentId } = scene;
  const messageId = scene.messageId();
  const request = { messageId, recipientThreadId: thread, recipientAgentId: agentId, senderAgentId, message };
  try {
    if (delivery.type === "direct") return { status: "accepted", messageId: await delivery.sink(request) };
    delivery.queue(request);
    return { status: "queued", messageId };
  } catch (thrown) {
    return failed(`transport_failed: ${errorMessage(thrown)}`);
  }
}

/** The relation alone says how a message travels: to a child live, to all others by what outlives the process. Never rejects. */
export async function sendMessage(scene: SendScene, to: MessageRecipient, message: string): Promise<MessageReceipt> {
  switch (to.relation) {
    case "child":
      return toChild(scene, to.name, message);
    case "parent": {
      const { parentThreadId } = scene.identity;
      return parentThreadId === undefined ? failed("recipient_unavailable") : toThread(scene, parentThreadId, null, message);
    }
    case "agent":
      return toThread(scene, to.threadId, to.agentId === undefined || to.agentId === "" ? null : to.agentId, message);
    default:
      // Of code without types.
      return failed("recipient_not_found");
  }
}
