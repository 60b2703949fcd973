import { isJsonObject } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import type { MessageRecipient } from "../../tool/messages.ts";
import type { ToolWork } from "../late-tool.ts";

interface SendInput {
  readonly to: MessageRecipient;
  readonly message: string;
}

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
);

export const sendMessageWork: ToolWork<unknown> = {
  input,
  async execute(given, { sendMessage }) {
    const asked = read(given);
    if (asked.type === "wrong") throw new TypeError(asked.why);
    const receipt = await sendMessage(asked.input.to, asked.input.message);
    const { messageId, status } = receipt;
    return { message_id: messageId, status, ...(receipt.status === "failed" ? { error: receipt.error } : undefined) };
  },
};
