import { type JsonValue, type Message, messageId, messageText, toolCallId } from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import { beforeAll, describe, expect, test } from "vitest";
import { toContextPolicy } from "../../inference/context-policy.test-support.ts";
import { compileEnv } from "../../plugin/compile-env.ts";
import { seldom } from "../../prompt/seldom-door.ts";
import { contextWindow } from "./context-window.ts";

const policy = (given: Partial<ContextPolicy>): ContextPolicy => toContextPolicy(given);

function transformOf(given: Partial<ContextPolicy>, sections: { [key: string]: JsonValue } = {}, instructions?: string) {
  const { transforms } = compileEnv({
    plugins: [],
    runtimePlugins: [contextWindow(policy(given), instructions)],
    sections,
    filter: ["none"],
  });
  const [transform] = transforms;
  if (transform === undefined) throw new Error("no transform");
  return transform;
}

const user = (id: string, size: number): Message => ({
  id: messageId(id),
  role: "user",
  content: [{ type: "text", text: "x".repeat(size) }],
});
const call = (id: string): Message => ({
  id: messageId(`ask-${id}`),
  role: "assistant",
  content: [{ type: "tool-call", id: toolCallId(id), name: "read", input: {} }],
});
const result = (id: string, text: string): Message => ({
  id: messageId(`give-${id}`),
  role: "tool",
  toolCallId: toolCallId(id),
  toolName: "read",
  status: "success",
  content: [{ type: "text", text }],
});

// As a step does before its inference.
beforeAll(async () => {
  await seldom.open();
});

describe("context window", () => {
  test("a request that fits is not touched", () => {
    const messages = [user("u", 40), call("1"), result("1", "ok")];
    expect(transformOf({})(messages, [])).toBe(messages);
  });

  test("core-execution 72: the cut falls between rounds, never inside one", () => {
    const transform = transformOf({ maxContextTokens: 400, maxOutputTokens: 100, minRecentMessages: 2 });
    const messages = [
      user("old", 1_000),
      call("1"),
      result("1", "y".repeat(400)),
      call("2"),
      result("2", "z".repeat(400)),
      user("new", 40),
    ];
    const kept = transform(messages, []).map((message) => message.id);
    expect(kept).toEqual(["old", "ask-2", "give-2", "new"]);
  });

  test("tools and instructions take their room", () => {
    const messages = [user("a", 400), user("b", 400)];
    const given = { maxContextTokens: 330, maxOutputTokens: 100, minRecentMessages: 1 };
    const tools = [{ id: "t", description: "d".repeat(200), parameters: {} }];
    expect(transformOf(given)(messages, [])).toBe(messages);
    expect(transformOf(given)(messages, tools)).toHaveLength(1);
    expect(transformOf(given, {}, "i".repeat(400))(messages, [])).toHaveLength(1);
  });

  test("long results become previews, as the section says", () => {
    const messages = [user("u", 40), call("1"), result("1", "line\n".repeat(4_000))];
    const preview = messageText(transformOf({})(messages, [])[2] ?? user("none", 0));
    expect(preview.split("\n")).toHaveLength(25);
    const section = { context_transform: { artifactCompaction: { previewLines: 2 } } };
    expect(messageText(transformOf({}, section)(messages, [])[2] ?? user("none", 0)).split("\n")).toHaveLength(3);
  });

  test.each(["thresholdTokens", "previewChars", "previewLines"])("%s must be at least 1", (name) => {
    expect(() => transformOf({}, { context_transform: { artifactCompaction: { [name]: 0 } } })).toThrow(
      expect.objectContaining({ code: "invalid_plugin_config" }),
    );
  });
});
