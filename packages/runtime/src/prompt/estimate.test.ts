import { type Message, messageId, toolCallId } from "@awaken/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimateMessage, estimateMessages, estimateTools, utf8Length } from "./estimate.ts";

const user = (text: string): Message => ({ id: messageId("u"), role: "user", content: [{ type: "text", text }] });

describe("estimate", () => {
  test("counts the bytes that an encoder would write", () => {
    const encoder = new TextEncoder();
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(utf8Length(text)).toBe(encoder.encode(text).length);
      }),
    );
    for (const text of ["", "abc", "äöü", "日本語", "😀😀", "\ud800", "a\udc00b", "\ud800\ud800\udc00"]) {
      expect(utf8Length(text)).toBe(encoder.encode(text).length);
    }
  });

  test("a message weighs 4 and a quarter of its bytes", () => {
    expect(estimateMessage(user(""))).toBe(4);
    expect(estimateMessage(user("a".repeat(41)))).toBe(14);
    expect(estimateMessages([user("abcd"), user("ä".repeat(4))])).toBe(5 + 6);
  });

  test("a part that is no text weighs 50, or what it says when that is more", () => {
    const image: Message = {
      id: messageId("i"),
      role: "user",
      content: [{ type: "image", source: { type: "base64", mediaType: "image/png", data: "A".repeat(9_000) } }],
    };
    const call = (text: string): Message => ({
      id: messageId("c"),
      role: "assistant",
      content: [{ type: "tool-call", id: toolCallId("1"), name: "write", input: { text } }],
    });
    expect(estimateMessage(image)).toBe(54);
    expect(estimateMessage(call("x"))).toBe(54);
    expect(estimateMessage(call("x".repeat(4_000)))).toBeGreaterThan(1_000);
  });

  test("a message is measured once", () => {
    let reads = 0;
    const message: Message = {
      id: messageId("u"),
      role: "user",
      get content() {
        reads += 1;
        return [{ type: "text", text: "hello" }] as const;
      },
    };
    expect([estimateMessage(message), estimateMessage(message)]).toEqual([5, 5]);
    expect(reads).toBe(1);
  });

  test("a tool weighs 10 and a quarter of what the model reads of it", () => {
    const parameters = { type: "object" };
    const bytes = "ab".length + "does ab".length + JSON.stringify(parameters).length;
    expect(estimateTools([{ id: "ab", description: "does ab", parameters }])).toBe(10 + Math.floor(bytes / 4));
  });
});
