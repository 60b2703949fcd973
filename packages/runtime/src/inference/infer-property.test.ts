import { getEventListeners } from "node:events";
import { type AgentEvent, InferenceError, type InferenceRequest, type JsonValue, messageText, type Turn } from "@awaken/contract";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countingIds, fakeClock } from "../testing/fake-clock.ts";
import { parts, type ScriptedTurn, type ScriptItem, slow } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { DEFAULT_INFERENCE_POLICY, infer } from "./infer.ts";

const request: InferenceRequest = { model: "m", system: "", messages: [], tools: [], promptCache: false };

const CAUSES: readonly ScriptItem[] = [
  { type: "throw", error: new Error("connection reset") },
  { type: "throw", error: new Error("503 service unavailable") },
  { type: "throw", error: new Error("GOAWAY") },
  { type: "throw", error: Object.assign(new Error("busy"), { status: 429 }) },
  { type: "throw", error: new InferenceError({ type: "overloaded", message: "full", retryAfterMs: 3000 }) },
  { type: "throw", error: new InferenceError({ type: "stream-interrupted", message: "goaway" }) },
  { type: "hang" },
];

const call = (id: string, input: JsonValue, pieces: number): ScriptItem[] => {
  const json = JSON.stringify(input);
  const size = Math.max(1, Math.ceil(json.length / pieces));
  const deltas = Array.from({ length: Math.ceil(json.length / size) }, (_, index) => json.slice(index * size, (index + 1) * size));
  return [
    { type: "tool-call-start", id, name: `tool-${id}` },
    ...deltas.map((delta): ScriptItem => ({ type: "tool-call-delta", id, delta })),
  ];
};

const plainUnit = fc.oneof(
  fc.constantFrom("Hello", " ", "\n", "wörld", "a b", "").map((delta): ScriptItem[] => [{ type: "text-delta", delta }]),
  fc.constantFrom("hm", "").map((delta): ScriptItem[] => [{ type: "reasoning-delta", delta }]),
  fc.constant<ScriptItem[]>([{ type: "block-end" }]),
  fc.nat(9).map((count): ScriptItem[] => [{ type: "usage", usage: { inputTokens: count, outputTokens: 1, totalTokens: count + 1 } }]),
);

const callUnit = (ids: readonly string[]) =>
  fc.tuple(
    fc.constantFrom<readonly string[]>([], ids.slice(0, 1), ids.slice(0, 2), ids),
    fc.array(fc.record({ key: fc.constantFrom("a", 'q"', "ü"), value: fc.oneof(fc.integer(), fc.string(), fc.constant(null)) }), {
      minLength: 3,
      maxLength: 3,
    }),
    fc.integer({ min: 1, max: 4 }),
  );

/** Takes one item of each list in turn, as vendors do with parallel calls. */
function interleave(lists: readonly ScriptItem[][]): ScriptItem[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, index) => lists.flatMap((list) => list.slice(index, index + 1))).flat();
}

/** One stream that would end well. */
const stream = fc
  .tuple(fc.array(plainUnit, { maxLength: 6 }), callUnit(["c1", "c2", "c3"]), fc.boolean(), fc.array(plainUnit, { maxLength: 2 }))
  .map(([before, [ids, inputs, pieces], isInterleaved, after]): ScriptItem[] => {
    const calls = ids.map((id, index) => {
      const { key = "a", value = 0 } = inputs[index] ?? {};
      return call(id, { [key]: value }, pieces);
    });
    return [...before.flat(), ...(isInterleaved ? interleave(calls) : calls.flat()), ...after.flat(), { type: "stop", reason: "end-turn" }];
  });

const cutStream = fc
  .tuple(stream, fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(...CAUSES))
  .map(([items, share, cause]): ScriptItem[] => [...items.slice(0, Math.floor(share * (items.length - 1))), cause]);

const conversation = fc
  .tuple(fc.array(cutStream, { maxLength: 3 }), stream)
  .map(([broken, whole]): ScriptedTurn[] => [...broken, whole].map((items) => parts(...items)));

function seenText(events: readonly AgentEvent[]): string {
  return events.reduce((text, event) => {
    if (event.type === "stream-reset") return "";
    return event.type === "text-delta" ? text + event.delta : text;
  }, "");
}

/** Calls that clients still wait for: begun since the last reset, neither ready nor cancelled. */
function openCalls(events: readonly AgentEvent[]): string[] {
  const open = new Set<string>();
  for (const event of events) {
    if (event.type === "stream-reset") open.clear();
    else if (event.type === "tool-call-start") {
      expect(open.has(event.toolCallId)).toBe(false);
      open.add(event.toolCallId);
    } else if (event.type === "tool-call-ready" || event.type === "tool-call-cancel") {
      expect(open.delete(event.toolCallId)).toBe(true);
    }
  }
  return [...open];
}

/** Calls whose whole input was in the items before the cut. */
function completeCalls(items: readonly ScriptItem[]): { id: string; input: JsonValue }[] {
  const inputs = new Map<string, string>();
  for (const item of items) {
    if (item.type === "tool-call-start") inputs.set(item.id, "");
    if (item.type === "tool-call-delta") inputs.set(item.id, (inputs.get(item.id) ?? "") + item.delta);
  }
  return [...inputs].flatMap(([id, json]) => {
    try {
      return [{ id, input: JSON.parse(json) }];
    } catch {
      return [];
    }
  });
}

function checkTurn(turn: Turn, events: readonly AgentEvent[], played: readonly ScriptedTurn[]): void {
  expect(seenText(events)).toBe(turn.text);
  const content = turn.content.flatMap((part) => (part.type === "text" ? part.text : []));
  expect(content.join("")).toBe(turn.text);
  const ready = events.flatMap((event) => (event.type === "tool-call-ready" ? { id: event.toolCallId, input: event.input } : []));
  expect(ready).toEqual(turn.toolCalls.map(({ id, input }) => ({ id, input })));
  expect(new Set(ready.map(({ id }) => id)).size).toBe(ready.length);
  const usages = played.flatMap(({ items }) => items.flatMap((item) => (item.type === "usage" ? item.usage.totalTokens : [])));
  expect(turn.usage.totalTokens).toBe(usages.reduce((sum, tokens) => sum + tokens, 0));
  if (turn.stopReason === "error") expect(turn.toolCalls).toEqual([]);
  else {
    expect(turn.toolCalls.map(({ id, input }) => ({ id, input }))).toEqual(completeCalls(played.at(-1)?.items ?? []));
    expect(openCalls(events)).toEqual([]);
  }
}

describe("infer, whatever the stream does", () => {
  it("shows clients what it returns, runs each call once and loses none, and leaves nothing behind", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, fc.nat(3), async (turns, maxStreamRetries) => {
        const clock = fakeClock();
        const { signal } = new AbortController();
        const events: AgentEvent[] = [];
        const provider = scripted(turns, { clock });
        const inferred = infer({
          provider,
          request,
          signal,
          clock,
          ids: countingIds(),
          log: { warn: () => {}, error: () => {} },
          emit: (event) => events.push(event),
          policy: { ...DEFAULT_INFERENCE_POLICY, maxStreamRetries },
        });
        await clock.runAll();
        const { turn } = await inferred;
        checkTurn(turn, events, turns.slice(0, provider.requests.length));
        expect(provider.requests.length).toBeLessThanOrEqual(maxStreamRetries + 1);
        expect(turn.malformedCalls).toEqual([]);
        expect(clock.pendingTimers).toBe(0);
        expect(getEventListeners(signal, "abort")).toEqual([]);
        for (const { messages } of provider.requests) {
          expect(messages.every((message) => messageText(message).trim() !== "")).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
  });

  it("keeps exactly the text that was seen when it is aborted at any moment", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, fc.integer({ min: 0, max: 4000 }), async (turns, abortAt) => {
        const clock = fakeClock();
        const controller = new AbortController();
        const events: AgentEvent[] = [];
        const inferred = infer({
          provider: scripted(
            turns.map((turn) => slow(turn, 100)),
            { clock },
          ),
          request,
          signal: controller.signal,
          clock,
          ids: countingIds(),
          log: { warn: () => {}, error: () => {} },
          emit: (event) => events.push(event),
          policy: DEFAULT_INFERENCE_POLICY,
        });
        let isOver = false;
        inferred.then(() => {
          isOver = true;
        });
        await clock.advance(abortAt);
        const wasOver = isOver;
        const before = events.length;
        controller.abort();
        const { turn } = await inferred;
        expect(seenText(events)).toBe(turn.text);
        expect(events).toHaveLength(before);
        if (!wasOver) expect(turn).toMatchObject({ toolCalls: [], stopReason: "end-turn" });
        expect(clock.pendingTimers).toBe(0);
        expect(getEventListeners(controller.signal, "abort")).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});
