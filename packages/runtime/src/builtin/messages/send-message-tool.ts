import { isJsonObject } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import { SEND_MESSAGE_TOOL } from "../../registry/agent-tool-ids.ts";
import { defineTool } from "../../tool/define-tool.ts";
import type { MessageRecipient } from "../../tool/messages.ts";
import type { Tool } from "../../tool/tool.ts";

interface SendInput {
  readonly to: MessageRecipient;
  readonly message: string;
}

const PARAMETERS = {
  type: "object",
  properties: {
    to: {
      oneOf: [
        { type: "object", properties: { relation: { const: "parent" } }, required: ["relation"] },
        {
          type: "object",
          properties: { relation: { const: "child" }, name: { type: "string", description: "Task name or ID" } },
          required: ["relation", "name"],
        },
        {
          type: "object",
          properties: { relation: { const: "agent" }, thread_id: { type: "string" }, agent_id: { type: "string" } },
          required: ["relation", "thread_id"],
        },
      ],
    },
    message: { type: "string" },
  },
  required: ["to", "message"],
} as const;

type Read = { readonly type: "read"; readonly input: SendInput } | { readonly type: "wrong"; readonly why: string };

const wrong = (why: string): Read => ({ type: "wrong", why });

const recipientOf = (to: { readonly [name: string]: unknown }): MessageRecipient | string => {
  const { relation, name, thread_id: threadId, agent_id: agentId } = to;
  switch (relation) {
    case "parent":
      return { relation };
    case "child":
      return typeof name === "string" ? { relation, name } : "child requires 'name'";
    case "agent":
      if (typeof threadId !== "string") return "agent requires 'thread_id'";
      return { relation, threadId, ...(typeof agentId === "string" ? { agentId } : undefined) };
    default:
      return typeof relation === "string" ? `unknown relation '${relation}'` : "missing 'to.relation'";
  }
};

function read(value: unknown): Read {
  const { to, message } = isJsonObject(value) ? value : {};
  if (to === undefined) return wrong("missing 'to'");
  const recipient = recipientOf(isJsonObject(to) ? to : {});
  if (typeof recipient === "string") return wrong(recipient);
  return typeof message === "string" ? { type: "read", input: { to: recipient, message } } : wrong("missing 'message'");
}

const input = s.custom<unknown>(
  (value) => read(value).type === "read",
  (value) => {
    const asked = read(value);
    return s.message(asked.type === "wrong" ? asked.why : "");
  },
  PARAMETERS,
);

/** Lets a model speak to its parent, to what it has started in the background, and to agents of other threads. */
export const sendMessageTool: Tool = defineTool({
  id: SEND_MESSAGE_TOOL,
  description:
    "Says something to another agent: the one that started you, a task that you have started, or one on another thread. You get a receipt, and no answer.",
  input,
  // Its id follows from the call: sent twice, it is there once.
  idempotent: true,
  kind: "other",
  async execute(given, { sendMessage }) {
    const asked = read(given);
    if (asked.type === "wrong") throw new TypeError(asked.why);
    const receipt = await sendMessage(asked.input.to, asked.input.message);
    const { messageId, status } = receipt;
    return { message_id: messageId, status, ...(receipt.status === "failed" ? { error: receipt.error } : undefined) };
  },
});
