import { type Message, messageId, messageText, toolCallId } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { createPreviewer, previewText } from "./preview.ts";

const LIMITS = { thresholdTokens: 2048, previewChars: 1600, previewLines: 24 };

const result = (text: string): Message => ({
  id: messageId("r"),
  role: "tool",
  toolCallId: toolCallId("c"),
  toolName: "read",
  status: "success",
  content: [{ type: "text", text }],
});

const shownPart = (preview: string): string => preview.slice(0, preview.lastIndexOf("\n[preview: "));

describe("preview", () => {
  test("a text below the threshold stays", () => {
    const text = "x".repeat(4 * 2048 - 1);
    expect(previewText(text, LIMITS)).toBe(text);
  });

  test("a long text keeps 1600 characters and says how long it was", () => {
    const preview = previewText("x".repeat(4 * 2048), LIMITS);
    expect(shownPart(preview)).toBe("x".repeat(1600));
    expect(preview).toContain("1600 of 8192 characters, about 2048 tokens");
  });

  test("a text of many lines keeps 24 of them", () => {
    const lines = Array.from({ length: 1_000 }, (_, index) => `line ${index} ....`);
    expect(shownPart(previewText(lines.join("\n"), LIMITS)).split("\n")).toEqual(lines.slice(0, 24));
  });

  test("no character is cut in half", () => {
    const shown = shownPart(previewText(`x${"😀".repeat(5_000)}`, LIMITS));
    expect(shown).toBe(`x${"😀".repeat(799)}`);
  });

  test("a preview is never longer than the text", () => {
    expect(previewText("short", { ...LIMITS, thresholdTokens: 1 })).toBe("short");
  });

  test("only tool results are shortened, each one once, and a list without long ones is the same list", () => {
    const preview = createPreviewer(LIMITS);
    const long = "x".repeat(10_000);
    const user: Message = { id: messageId("u"), role: "user", content: [{ type: "text", text: long }] };
    const quiet = [user, result("ok")];
    expect(preview(quiet)).toBe(quiet);
    const messages = [user, result(long)];
    const [first, second] = [preview(messages), preview([...messages])];
    expect(first[0]).toBe(user);
    expect(messageText(first[1] ?? user).length).toBeLessThan(1_800);
    expect(second[1]).toBe(first[1]);
  });
});
