import { type Message, messageId, messageText, messageToolCalls, type ToolMessage, toolCallId, type UserMessage } from "@awaken/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimateMessages } from "./estimate.ts";
import { INTERRUPTED_RESULT } from "./interrupted-result.ts";
import { openWithUser } from "./opening.ts";
import { repairCalls } from "./repair.ts";
import { truncateMessages } from "./truncate.ts";

let ids = 0;
const id = () => messageId(`m${++ids}`);
const says = (role: "system" | "user" | "assistant", size: number): Message => ({
  id: id(),
  role,
  content: [{ type: "text", text: "x".repeat(size) }],
});

const asks = (...calls: readonly string[]): Message => ({
  id: id(),
  role: "assistant",
  content: calls.map((call) => ({ type: "tool-call", id: toolCallId(call), name: "work", input: {} })),
});

const gives = (call: string, size = 40): ToolMessage => ({
  id: id(),
  role: "tool",
  toolCallId: toolCallId(call),
  toolName: "work",
  status: "success",
  content: [{ type: "text", text: "y".repeat(size) }],
});

const round = (calls: readonly string[], size: number): readonly Message[] => [asks(...calls), ...calls.map((call) => gives(call, size))];

/** Each call has one result right behind its message, and each result has a call. */
function expectPaired(messages: readonly Message[]): void {
  let waiting: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      expect(waiting).toContain(message.toolCallId);
      waiting = waiting.filter((call) => call !== message.toolCallId);
      continue;
    }
    expect(waiting).toEqual([]);
    waiting = messageToolCalls(message).map((call) => call.id);
  }
  expect(waiting).toEqual([]);
}

const size = fc.nat({ max: 400 });
const piece = fc.oneof(
  fc.record({ type: fc.constantFrom("user" as const, "assistant" as const), size }),
  // Call ids come again on purpose: vendors number their calls anew in each turn.
  fc.record({ type: fc.constant("round" as const), calls: fc.integer({ min: 1, max: 4 }), size }),
);

const transcript = fc.tuple(fc.array(size, { maxLength: 3 }), fc.array(piece, { maxLength: 30 })).map(([lead, pieces]) => [
  ...lead.map((length) => says("system", length)),
  ...pieces.flatMap((entry) =>
    entry.type === "round"
      ? round(
          Array.from({ length: entry.calls }, (_, index) => `c${index}`),
          entry.size,
        )
      : [says(entry.type, entry.size)],
  ),
]);

const limits = fc.record({ tokens: fc.integer({ min: -100, max: 2_000 }), minRecent: fc.nat({ max: 12 }) });

describe("truncateMessages", () => {
  test("core-execution 72: a cut inside a tool round leaves no orphan call or result", () => {
    const messages = [says("user", 400), ...round(["a", "b", "c"], 400), says("user", 40), says("assistant", 40)];
    for (let minRecent = 0; minRecent <= messages.length; minRecent++) {
      for (let tokens = 0; tokens < 800; tokens += 10) expectPaired(truncateMessages(messages, { tokens, minRecent }));
    }
  });

  test("core-execution 72: a round that the newest messages reach into is kept whole, an older one that does not fit goes whole", () => {
    const inside = [says("user", 400), ...round(["a", "b"], 400)];
    expect(truncateMessages([says("user", 40), says("assistant", 40), ...inside], { tokens: 0, minRecent: 1 }).slice(1)).toEqual(
      inside.slice(1),
    );
    const before = [...round(["a", "b"], 400), says("user", 40)];
    expect(truncateMessages(before, { tokens: 200, minRecent: 1 })).toEqual(before.slice(-1));
  });

  test("core-execution 73: the last 10 messages stay whatever they weigh", () => {
    const messages = Array.from({ length: 30 }, () => says("user", 4_000));
    expect(truncateMessages(messages, { tokens: 100, minRecent: 10 })).toEqual(messages.slice(-10));
  });

  test("what fits is the same list", () => {
    const messages = [says("user", 40), ...round(["a"], 40)];
    expect(truncateMessages(messages, { tokens: estimateMessages(messages), minRecent: 0 })).toBe(messages);
  });

  test("the leading system messages stay, then as many of the newest as fit", () => {
    const messages = [says("system", 40), says("system", 40), ...Array.from({ length: 10 }, () => says("user", 40))];
    const kept = truncateMessages(messages, { tokens: 14 * 5, minRecent: 1 });
    expect(kept).toEqual([...messages.slice(0, 2), ...messages.slice(-3)]);
  });

  /** Places of what was kept behind the leading system messages: the question that was put in front, if one was, and the rest. */
  function readKept(messages: readonly Message[], kept: readonly Message[]) {
    const lead = messages.filter((message) => message.role === "system").length;
    const places = kept.map(({ id: kept }) => messages.findIndex((message) => message.id === kept));
    expect(places).not.toContain(-1);
    expect(places.slice(0, lead)).toEqual(messages.slice(0, lead).map((_, index) => index));
    const [first, second] = places.slice(lead);
    const hasQuestion = first !== undefined && second !== undefined && second > first + 1;
    const rest = places.slice(hasQuestion ? lead + 1 : lead);
    // From the cut on it is one piece up to the end.
    expect(rest).toEqual(messages.map((_, index) => index).slice(messages.length - rest.length));
    return { lead, rest, question: hasQuestion ? first : undefined };
  }

  test("a valid transcript stays valid, keeps its newest messages and its order, and invents nothing", () => {
    fc.assert(
      fc.property(transcript, limits, (messages, { tokens, minRecent }) => {
        const kept = truncateMessages(messages, { tokens, minRecent });
        expectPaired(kept);
        const { rest, question } = readKept(messages, kept);
        const newest = Math.min(messages.filter(({ role }) => role !== "system").length, Math.max(1, minRecent));
        expect(rest.length).toBeGreaterThanOrEqual(newest);
        if (question === undefined) return;
        // The newest one before the cut, and only where an answer would stand first without it.
        expect(messages[rest[0] ?? 0]?.role).toBe("assistant");
        expect(messages.slice(0, rest[0]).findLastIndex(({ role }) => role === "user")).toBe(question);
      }),
      { numRuns: 500 },
    );
  });

  test("core-execution 89: whatever is left out, the first message behind the system ones is the user's", () => {
    fc.assert(
      fc.property(transcript, limits, (messages, given) => {
        const kept = truncateMessages(messages, given);
        const opened = openWithUser(kept);
        const first = opened.find(({ role }) => role !== "system");
        expect(first?.role ?? "user").toBe("user");
        // Where there was a question, it is one of the user's own.
        const { rest, lead } = readKept(messages, kept);
        const hasQuestion = messages.slice(lead, rest[0]).some(({ role }) => role === "user");
        if (hasQuestion) expect(opened).toBe(kept);
      }),
      { numRuns: 500 },
    );
  });

  test("core-execution 89: answers keep their question; older ones go for it, and where none may go it is shortened", () => {
    const question: Message = { ...says("user", 4_000), role: "user", content: [{ type: "text", text: `Do this. ${"x".repeat(4_000)}` }] };
    const rounds = Array.from({ length: 8 }, (_, index) => round([`c${index}`], 400)).flat();
    const messages = [says("user", 40), says("assistant", 40), question, ...rounds];
    const weight = estimateMessages(rounds.slice(-4)) + estimateMessages([question]);
    expect(truncateMessages(messages, { tokens: weight, minRecent: 1 })).toEqual([question, ...rounds.slice(-4)]);
    expect(truncateMessages(messages, { tokens: weight - 1, minRecent: 1 })).toEqual([question, ...rounds.slice(-2)]);
    const [short, ...rest] = truncateMessages(messages, { tokens: weight - 1, minRecent: 4 });
    expect(rest).toEqual(rounds.slice(-4));
    expect(short).toMatchObject({ id: question.id, role: "user" });
    expect(short === undefined ? "" : messageText(short)).toMatch(/^Do this\. x+\n\[preview: 200 of 4009 characters/);
    // A question inside of what is kept needs no other before it.
    const later = says("user", 40);
    const followed = [...messages, later, says("assistant", 40)];
    expect(truncateMessages(followed, { tokens: 60, minRecent: 2 })).toEqual(followed.slice(-2));
  });

  test("core-execution 89: a shortened question says which media it is without, and half of a character is not sent", () => {
    const media: UserMessage = {
      id: id(),
      role: "user",
      content: [
        { type: "text", text: `${"x".repeat(199)}😀${"y".repeat(400)}` },
        { type: "image", source: { type: "url", url: "https://pictures.example/1.png" } },
      ],
    };
    const [shown] = truncateMessages([media, ...round(["a"], 4_000)], { tokens: 10, minRecent: 1 });
    const text = shown === undefined ? "" : messageText(shown);
    expect(text).toMatch(/^x{199}\n\[preview/);
    expect(text).toMatch(/\n\[image left out\]$/);
    expect(text.isWellFormed()).toBe(true);
  });

  test("core-execution 89: what the assistant began is opened with a line, the same object every time", () => {
    const began = [says("system", 4), says("assistant", 40), says("user", 40)];
    const opened = openWithUser(began);
    expect(opened.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect(opened[1]).toMatchObject({ visibility: "internal" });
    expect(openWithUser(began)[1]).toBe(opened[1]);
    const asked = [says("user", 4), says("assistant", 4)];
    expect(openWithUser(asked)).toBe(asked);
    expect(openWithUser([])).toEqual([]);
  });

  test("more than the budget is kept only for the newest messages, their rounds and a little of their question", () => {
    fc.assert(
      fc.property(transcript, limits, (messages, { tokens, minRecent }) => {
        const kept = truncateMessages(messages, { tokens, minRecent });
        if (estimateMessages(kept) <= tokens) return;
        const { lead } = readKept(messages, kept);
        const [first, ...others] = kept.slice(lead);
        const newest = Math.max(1, minRecent);
        const isQuestion = first?.role === "user" && others[0]?.role === "assistant" && others.length >= newest;
        if (isQuestion) expect(estimateMessages([first])).toBeLessThan(90);
        const held = isQuestion ? others : kept.slice(lead);
        // One round less would be fewer than asked for.
        const next = held.findIndex((message, index) => index > 0 && message?.role !== "tool");
        expect(next === -1 ? 0 : held.length - next).toBeLessThan(newest);
      }),
      { numRuns: 500 },
    );
  });
});

describe("repairCalls", () => {
  test("a call without a result gets one", () => {
    const messages = [asks("a", "b"), gives("a"), says("user", 4)];
    const repaired = repairCalls(messages);
    expectPaired(repaired);
    expect(repaired).toHaveLength(4);
    expect(repaired[2]).toMatchObject({
      role: "tool",
      toolCallId: "b",
      status: "error",
      content: [{ type: "text", text: INTERRUPTED_RESULT }],
    });
  });

  test("a result without a call goes, a late one comes back to its call", () => {
    const late = gives("a");
    const messages = [gives("lost"), asks("a"), says("user", 4), late];
    expect(repairCalls(messages)).toEqual([messages[1], late, messages[2]]);
    const again = [asks("a"), gives("a"), late];
    expect(repairCalls(again)).toEqual([again[0], late]);
  });

  test("whatever comes in, what goes out is paired, and a repaired list is left alone", () => {
    const anything = fc.array(
      fc.oneof(
        fc.constantFrom("user" as const, "assistant" as const).map((role) => says(role, 4)),
        fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 }).map((calls) => asks(...calls)),
        fc.constantFrom("a", "b", "c").map((call) => gives(call)),
      ),
    );
    fc.assert(
      fc.property(anything, (messages) => {
        const repaired = repairCalls(messages);
        expectPaired(repaired);
        expect(repairCalls(repaired)).toBe(repaired);
      }),
      { numRuns: 500 },
    );
  });
});
