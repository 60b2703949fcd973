import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clean, TextCleaner } from "./sanitize.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: what must never reach a terminal
const FORBIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

describe("text for a terminal", () => {
  it.each([
    ["plain text, a tab\tand\nnewlines stay", "plain text, a tab\tand\nnewlines stay"],
    ["\u001b[31mred\u001b[0m", "red"],
    ["\u001b[?1049h\u001b[2J\u001b[Hgone", "gone"],
    ["\u001b]0;title\u0007after", "after"],
    ["\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\", "link"],
    ["\u001bP1;2|secret\u001b\\after", "after"],
    ["\u001b_Gi=1;AAAA\u001b\\after", "after"],
    ["\u001b]52;c;ZXZpbA==\u009cafter", "after"],
    ["\u009b31mred \u009d0;t\u009cx", "red x"],
    ["\u001b(B\u001b=\u001bcplain", "plain"],
    ["a\rb\u0008c\u0000d\u007fe", "abcde"],
    ["line\r\nnext", "line\nnext"],
    ["pay \u202e001\u202c now", "pay 001 now"],
    ["one\u2028two", "one\ntwo"],
    ["\u001b[31", ""],
    ["\u001b[31é", "é"],
    ["\u001b\u001b[31mred", "red"],
    ["emoji 😀 and 漢字", "emoji 😀 and 漢字"],
  ])("%j becomes %j", (given, expected) => {
    expect(clean(given)).toBe(expected);
  });

  it("a sequence that never ends cannot swallow more than its line", () => {
    expect(clean("\u001b]0;never closed\nthe rest")).toBe("\nthe rest");
  });

  it("gives the same in one piece and in any pieces, and never a control character", () => {
    const nasty = fc.string({
      unit: fc.constantFrom("\u001b", "[", "]", "31", "m", "\u0007", "\\", "\u009b", "\n", "é", "a", "\u0000", " ", "\u202e"),
    });
    fc.assert(
      fc.property(fc.array(nasty, { maxLength: 8 }), (pieces) => {
        const cleaner = new TextCleaner();
        const whole = clean(pieces.join(""));
        expect(pieces.map((piece) => cleaner.push(piece)).join("")).toBe(whole);
        expect(whole).not.toMatch(FORBIDDEN);
      }),
    );
  });
});
