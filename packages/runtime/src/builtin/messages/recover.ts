import { isJsonObject, type JsonObject } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import { command } from "../../phase/command.ts";
import { failedMessages, messageOutbox } from "../../state/message-outbox.ts";
import { reply } from "../../tool/reply.ts";
import type { ToolWork } from "../late-tool.ts";
import { queued } from "./outbox-changes.ts";

const ACTIONS = ["list", "replay", "clear"] as const;

const actionOf = (value: unknown): (typeof ACTIONS)[number] | undefined => {
  const action = isJsonObject(value) ? (value["action"] ?? "list") : "list";
  return ACTIONS.find((known) => known === action);
};

const input = s.custom<unknown>(
  (value) => actionOf(value) !== undefined,
  (value) => s.message(`unknown action '${isJsonObject(value) ? String(value["action"]) : ""}'`),
);

export const recoverWork: ToolWork<unknown> = {
  input,
  execute(given, { state }) {
    const action = actionOf(given) ?? "list";
    const failed = state.get(failedMessages)?.messages ?? [];
    const messages: readonly JsonObject[] = failed.map(({ request, error }) => ({
      message_id: request.messageId,
      recipient_thread_id: request.recipientThreadId,
      recipient_agent_id: request.recipientAgentId,
      error,
    }));
    const data = { action, count: failed.length, messages };
    if (action === "list" || failed.length === 0) return reply(data);
    const change = command().update(failedMessages, { type: "clear" });
    if (action === "clear") return reply(data, { command: change });
    const entries = failed.map(({ request }) => ({ id: request.messageId, request, attempts: 0 }));
    return reply(data, { command: change.update(messageOutbox, queued(entries)) });
  },
};
