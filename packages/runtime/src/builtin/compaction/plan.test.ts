import { type Message, messageId, messageToolCalls, toolCallId } from "@awaken/contract";
import type { ContextPolicy } from "@awaken/contract/spec";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toContextPolicy } from "../../inference/context-policy.test-support.ts";
import { estimateMessages } from "../../prompt/estimate.ts";
import { summaryMessage } from "../../prompt/summary-message.ts";
import { planCompaction, safeCut } from "./plan.ts";
import { renderTranscript } from "./transcript.ts";

const policy = (given: Partial<ContextPolicy> = {}): ContextPolicy => toContextPolicy(given);

let ids = 0;
const id = () => messageId(`m${++ids}`);
const user = (text: string, visibility?: "internal"): Message => ({
  id: id(),
  role: "user",
  content: [{ type: "text", text }],
  ...(visibility === undefined ? {} : { visibility }),
});
const answer = (text: string): Message => ({ id: id(), role: "assistant", content: [{ type: "text", text }] });
const asks = (...calls: readonly string[]): Message => ({
  id: id(),
  role: "assistant",
  content: calls.map((call) => ({ type: "tool-call", id: toolCallId(call), name: "work", input: { call } })),
});
const gives = (call: string, status: "success" | "pending" = "success"): Message => ({
  id: id(),
  role: "tool",
  toolCallId: toolCallId(call),
  toolName: "work",
  status,
  content: [{ type: "text", text: `result ${call}` }],
});

const LONG = "x".repeat(8_000);

describe("compaction plan", () => {
  test("everything from the newest visible user message on stays", () => {
    const messages = [user(LONG), answer(LONG), user("now"), asks("a"), gives("a"), user("task news", "internal"), answer("thinking")];
    expect(planCompaction(messages, policy())).toMatchObject({ upTo: messages[1]?.id, tokens: estimateMessages(messages.slice(0, 2)) });
  });

  test("the suffix is that of the mode", () => {
    const messages = [user("start"), ...Array.from({ length: 8 }, () => answer(LONG)), user("now")];
    const upTo = (given: Partial<ContextPolicy>) => {
      const plan = planCompaction(messages, policy(given));
      return messages.findIndex((message) => message.id === plan?.upTo);
    };
    expect(upTo({ compactionRawSuffixMessages: 4 })).toBe(5);
    expect(upTo({ compactionMode: "compact-to-safe-frontier", minRecentMessages: 6 })).toBe(3);
  });

  test("the cut is not inside a round, and a placeholder is no answer", () => {
    const messages = [user(LONG), answer(LONG), asks("a", "b"), gives("a"), gives("b"), answer("x")];
    expect(safeCut(messages, 3)).toBe(2);
    expect(safeCut(messages, 4)).toBe(2);
    expect(safeCut(messages, 5)).toBe(5);
    expect(safeCut([user("u"), asks("a"), gives("a", "pending"), user("v")], 3)).toBe(1);
    expect(safeCut([user("u"), asks("a"), gives("a"), gives("a"), user("v")], 3)).toBe(1);
  });

  test("too little to gain is no plan", () => {
    expect(planCompaction([], policy())).toBeUndefined();
    expect(planCompaction([user("hi"), answer("hello"), user("now")], policy())).toBeUndefined();
    expect(planCompaction([user(LONG, "internal"), user("now")], policy())).toBeUndefined();
    const compacted = [summaryMessage(id(), LONG), user("short"), answer("short"), user("now")];
    expect(planCompaction(compacted, policy())).toBeUndefined();
  });

  test("the transcript holds what was said; the summary before it is given apart", () => {
    const messages = [
      summaryMessage(id(), "earlier"),
      user("a question"),
      asks("a"),
      gives("a"),
      user("hidden", "internal"),
      answer(LONG),
      user("now"),
    ];
    const plan = planCompaction(messages, policy({ compactionRawSuffixMessages: 1 }));
    expect(plan?.previousSummary).toBe("earlier");
    expect(plan?.transcript).toContain(
      'user: a question\n\nassistant: [calls work with {"call":"a"}]\n\ntool work: result a\n\nassistant: xxx',
    );
    expect(plan?.transcript).not.toMatch(/hidden|earlier/);
    expect(renderTranscript([user("")])).toBe("");
  });

  test("no random transcript loses half of a pair, its newest question, or its order", () => {
    const piece = fc.oneof(
      fc.constantFrom("user", "internal", "answer").map((kind) => ({ kind, calls: 0, isOpen: false })),
      fc.record({ kind: fc.constant("round"), calls: fc.integer({ min: 1, max: 4 }), isOpen: fc.boolean() }),
    );
    const build = (pieces: readonly { kind: string; calls: number; isOpen: boolean }[]): Message[] =>
      pieces.flatMap(({ kind, calls, isOpen }) => {
        if (kind === "user") return [user(LONG)];
        if (kind === "internal") return [user("note", "internal")];
        if (kind === "answer") return [answer(LONG)];
        const names = Array.from({ length: calls }, (_, index) => `c${index}`);
        return [asks(...names), ...names.map((name) => gives(name, isOpen ? "pending" : "success"))];
      });
    const settings = fc.record({
      compactionMode: fc.constantFrom("keep-recent-raw-suffix" as const, "compact-to-safe-frontier" as const),
      compactionRawSuffixMessages: fc.nat({ max: 6 }),
      minRecentMessages: fc.nat({ max: 6 }),
    });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 25 }), settings, (pieces, given) => {
        const messages = build(pieces);
        const plan = planCompaction(messages, policy(given));
        if (plan === undefined) return;
        const cut = messages.findIndex((message) => message.id === plan.upTo) + 1;
        const kept = messages.slice(cut);
        expect(cut).toBeGreaterThan(0);
        expect(kept[0]?.role).not.toBe("tool");
        const suffix = given.compactionMode === "keep-recent-raw-suffix" ? given.compactionRawSuffixMessages : given.minRecentMessages;
        expect(kept.length).toBeGreaterThanOrEqual(Math.max(1, suffix));
        const isAsked = (message: Message) => message.role === "user" && message.visibility === undefined;
        if (messages.some(isAsked)) expect(kept.some(isAsked)).toBe(true);
        const open = new Set<string>();
        for (const message of messages.slice(0, cut)) {
          for (const call of messageToolCalls(message)) open.add(call.id);
          if (message.role === "tool" && message.status !== "pending") open.delete(message.toolCallId);
        }
        expect([...open]).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});
