import { type Message, messageId, threadId, toolCallId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { blockText } from "./block-text.ts";
import { Conversation } from "./conversation.ts";
import { showHistory } from "./history.ts";

const id = messageId("m");
const said = (text: string) => [{ type: "text", text }] as const;
const call = (name: string) => ({ type: "tool-call", id: toolCallId(name), name, input: {} }) as const;

function shown(...messages: readonly Message[]): string {
  const conversation = new Conversation();
  const rows = messages.map(
    (message, index) => ({ schemaVersion: 1, threadId: threadId("t"), seq: index + 1, createdAt: 0, message }) as const,
  );
  showHistory(conversation, rows, []);
  return conversation.blocks.map(blockText).join("\n");
}

const result = (name: string, status: "success" | "error" | "pending", text: string): Message => ({
  id,
  role: "tool",
  toolCallId: toolCallId(name),
  toolName: name,
  status,
  content: said(text),
});

describe("a log that is shown again", () => {
  it("puts each result to its call, the last word counts", () => {
    const log: readonly Message[] = [
      { id, role: "user", content: said("go\u001b[2J") },
      { id, role: "assistant", content: [...said("I go."), call("pay"), call("ask"), call("die")] },
      result("pay", "pending", "waits"),
      result("die", "error", "Execution failed: dead"),
      result("ask", "error", "Denied: no"),
      result("pay", "success", "paid"),
    ];
    expect(shown(...log)).toBe("> go\nI go.\n* pay {}\n  succeeded: paid\n* ask {}\n  denied: no\n* die {}\n  failed: dead");
  });

  it("a call that was cancelled is no failure, as it was none when it happened", () => {
    const log: readonly Message[] = [
      { id, role: "assistant", content: [call("report"), call("mail")] },
      result("report", "error", "Cancelled: the operation was aborted"),
      result("mail", "error", "Interrupted: the run ended"),
    ];
    expect(shown(...log)).toMatch(/report {}\n {2}cancelled: the operation was aborted\n.* mail {}\n {2}cancelled: .*the run ended/);
  });

  it("leaves out what only the model reads, and says which calls were withdrawn", () => {
    const retracted: Message = { ...result("pay", "error", "x"), visibility: "internal" };
    const log: readonly Message[] = [
      { id, role: "system", content: said("be kind") },
      { id, role: "user", content: said("a summary"), metadata: { compaction: { fromSeq: 1, toSeq: 1 } } },
      { id, role: "user", visibility: "internal", content: said("a note") },
      { id, role: "assistant", content: [{ type: "reasoning", text: "hm" }, call("pay")] },
      result("pay", "pending", "waits"),
      retracted,
    ];
    expect(shown(...log)).toBe("* pay {}\n  cancelled: withdrawn by a later message");
  });

  it("shows data as data, and names what it cannot show", () => {
    const image = { type: "image", source: { type: "url", url: "https://example.com/a.png" } } as const;
    expect(shown({ id, role: "assistant", content: said('{"a":1}') }, { id, role: "assistant", content: [image] })).toBe(
      '{\n  "a": 1\n}\n- [image]',
    );
    expect(shown({ id, role: "assistant", content: said("{not json") })).toBe("{not json");
  });
});
