import { type AgentEvent, type InferenceRequest, type StreamPart, type Turn, toolCallId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { countingIds, fakeClock } from "../testing/fake-clock.ts";
import { parts, type ScriptItem } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { DEFAULT_INFERENCE_POLICY, infer } from "./infer.ts";

const request: InferenceRequest = { model: "m", system: "", messages: [], tools: [], promptCache: false };

async function collect(...items: ScriptItem[]): Promise<{ turn: Turn; events: AgentEvent[]; warnings: string[] }> {
  const events: AgentEvent[] = [];
  const warnings: string[] = [];
  const clock = fakeClock();
  const log = { warn: (_: string, fields = {}) => warnings.push(JSON.stringify(fields)), error: () => {} };
  const { turn } = await infer({
    provider: scripted([parts(...items)], { clock }),
    request,
    signal: new AbortController().signal,
    clock,
    ids: countingIds(),
    log,
    emit: (event) => events.push(event),
    policy: { ...DEFAULT_INFERENCE_POLICY, maxContinuationRetries: 0 },
  });
  expect(clock.pendingTimers).toBe(0);
  return { turn, events, warnings };
}

const text = (delta: string): StreamPart => ({ type: "text-delta", delta });
const start = (id: string, name: string): StreamPart => ({ type: "tool-call-start", id, name });
const input = (id: string, delta: string): StreamPart => ({ type: "tool-call-delta", id, delta });
const stop = (reason: "end-turn" | "tool-use" | "max-tokens" | "content-filter" = "end-turn"): StreamPart => ({ type: "stop", reason });
const types = (events: readonly AgentEvent[]) => events.map(({ type }) => type);

describe("collecting a stream", () => {
  it("inference 2: puts all text deltas into one block", async () => {
    const { turn, events } = await collect(text("Hel"), text(""), text("lo"), stop());
    expect(turn).toMatchObject({ text: "Hello", content: [{ type: "text", text: "Hello" }], toolCalls: [], stopReason: "end-turn" });
    expect(events).toEqual([text("Hel"), text("lo")]);
  });

  /** Begun as q, k, z; whole as z, q, k. Neither ids nor names are in that order. */
  const interleaved: readonly ScriptItem[] = [
    start("q", "search"),
    text("both "),
    start("k", "add"),
    input("q", '{"x":'),
    start("z", "load"),
    input("k", '{"y":'),
    input("z", '{"w":3}'),
    text("at once"),
    input("q", "1}"),
    input("k", "2}"),
    stop("tool-use"),
  ];
  const begun = [
    { id: "q", name: "search", input: { x: 1 } },
    { id: "k", name: "add", input: { y: 2 } },
    { id: "z", name: "load", input: { w: 3 } },
  ];

  it("inference 3: keeps interleaved calls in the order of their starts, and reports each as ready once, at the end", async () => {
    const { turn, events } = await collect(...interleaved);
    expect(turn.toolCalls).toEqual(begun);
    expect(turn.malformedCalls).toEqual([]);
    const ready = events.filter(({ type }) => type === "tool-call-ready");
    expect(ready).toEqual(
      begun.map(({ id, name, input: given }) => ({
        type: "tool-call-ready",
        toolCallId: id,
        toolName: name,
        input: given,
        runsAt: "server",
        dynamic: false,
      })),
    );
    expect(events.slice(-3)).toEqual(ready);
    expect(events.filter(({ type }) => type === "tool-call-start")).toHaveLength(3);
    for (const { id, input: given } of begun) {
      const deltas = events.flatMap((event) => (event.type === "tool-call-delta" && event.toolCallId === id ? event.delta : []));
      expect(deltas.join("")).toBe(JSON.stringify(given));
    }
  });

  it("inference 46: lists calls that complete in another order than they began in the order in which they began", async () => {
    const { turn } = await collect(...interleaved);
    const listed = turn.content.flatMap((part) => (part.type === "tool-call" ? part.id : []));
    expect(listed).toEqual(["q", "k", "z"]);
    expect(turn.toolCalls.map(({ id }) => id)).toEqual(listed);
    // Also when a stream that breaks leaves only those that came whole.
    const broken = await collect(...interleaved.slice(0, -2), { type: "throw", error: new Error("connection reset") });
    expect(broken.turn.toolCalls.map(({ id }) => id)).toEqual(["q", "z"]);
  });

  it("inference 4: leaves a call with truncated input out and says so, with no ready event", async () => {
    const { turn, events } = await collect(start("a", "add"), input("a", '{"x":'), start("b", "sub"), input("b", "{}"), stop("tool-use"));
    expect(turn.toolCalls).toEqual([{ id: "b", name: "sub", input: {} }]);
    expect(turn.malformedCalls).toEqual([{ id: "a", name: "add" }]);
    expect(turn.content).toHaveLength(1);
    expect(types(events).filter((type) => type === "tool-call-ready")).toHaveLength(1);
  });

  it("runs a call without input with the empty object, and none with a literal null (I3)", async () => {
    const { turn } = await collect(start("a", "now"), start("b", "now"), input("b", "null"), start("c", "now"), input("c", "  "), stop());
    expect(turn.toolCalls).toEqual([
      { id: "a", name: "now", input: {} },
      { id: "c", name: "now", input: {} },
    ]);
    expect(turn.malformedCalls).toEqual([{ id: "b", name: "now" }]);
  });

  it("inference 5: adds usage up and lets a negative count change nothing", async () => {
    const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
    const { turn } = await collect(
      { type: "usage", usage },
      { type: "usage", usage: { inputTokens: -4, outputTokens: -1, totalTokens: -5 } },
      { type: "usage", usage: { inputTokens: 0, outputTokens: 1, totalTokens: 1, reasoningTokens: 3 } },
      stop(),
    );
    expect(turn.usage).toEqual({ inputTokens: 10, outputTokens: 6, totalTokens: 16, reasoningTokens: 3 });
  });

  it("inference 6: announces a call only when its name is known, then its early input as one delta", async () => {
    const { turn, events } = await collect(
      input("a", '{"x'),
      start("a", ""),
      input("a", '":1'),
      start("a", "add"),
      input("a", "}"),
      stop(),
    );
    expect(events).toEqual([
      { type: "tool-call-start", toolCallId: "a", toolName: "add" },
      { type: "tool-call-delta", toolCallId: "a", delta: '{"x":1' },
      { type: "tool-call-delta", toolCallId: "a", delta: "}" },
      { type: "tool-call-ready", toolCallId: "a", toolName: "add", input: { x: 1 }, runsAt: "server", dynamic: false },
    ]);
    expect(turn.toolCalls).toHaveLength(1);
  });

  it("takes two calls with one id for two calls: the second has an id of its own, in every event", async () => {
    const { turn, events } = await collect(start("a", "add"), input("a", '{"x":1}'), start("a", "add"), input("a", '{"x":2}'), stop());
    const [first, second] = turn.toolCalls;
    expect(turn.toolCalls.map((call) => call.input)).toEqual([{ x: 1 }, { x: 2 }]);
    expect([first?.id, second?.id === "a"]).toEqual(["a", false]);
    expect(turn.content.flatMap((part) => (part.type === "tool-call" ? [part.id] : []))).toEqual([first?.id, second?.id]);
    expect(events.map((event) => ("toolCallId" in event ? `${event.type} ${event.toolCallId}` : event.type))).toEqual([
      ...["tool-call-start a", "tool-call-delta a"],
      ...[`tool-call-start ${second?.id}`, `tool-call-delta ${second?.id}`],
      ...["tool-call-ready a", `tool-call-ready ${second?.id}`],
    ]);
  });

  it("takes a call that is streamed and then said in one piece for one call, and said twice for two", async () => {
    const whole = { type: "content", content: { type: "tool-call", id: toolCallId("a"), name: "add", input: { x: 1 } } } as const;
    const said = await collect(start("a", "add"), input("a", '{"x":1}'), whole, stop());
    expect(said.turn.toolCalls).toEqual([{ id: "a", name: "add", input: { x: 1 } }]);
    const twice = await collect(whole, whole, stop());
    expect(new Set(twice.turn.toolCalls.map(({ id }) => id)).size).toBe(2);
  });

  it("gives calls without an id one of their own", async () => {
    const { turn } = await collect(start("", "add"), input("", '{"x":1}'), start("", "add"), input("", '{"x":2}'), stop());
    expect(turn.toolCalls.map((call) => call.input)).toEqual([{ x: 1 }, { x: 2 }]);
    expect(new Set(turn.toolCalls.map(({ id }) => id)).size).toBe(2);
  });

  it("keeps reasoning with what the vendor wants back, in its place (I1)", async () => {
    const providerMetadata = { vendor: { item: "r1" } };
    const { turn, events } = await collect(
      { type: "reasoning-delta", delta: "hm" },
      { type: "block-end", signature: "sig", providerMetadata },
      text("So: "),
      { type: "block-end", providerMetadata: { vendor: { item: "t1" } } },
      { type: "reasoning-delta", delta: "" },
      { type: "block-end", providerMetadata: { vendor: { redacted: "xyz" } } },
      text("yes"),
      start("a", "add"),
      { type: "tool-call-metadata", id: "a", providerMetadata: { vendor: { thought: "t" } } },
      stop("tool-use"),
    );
    expect(turn.content).toEqual([
      { type: "reasoning", text: "hm", signature: "sig", providerMetadata },
      { type: "text", text: "So: ", providerMetadata: { vendor: { item: "t1" } } },
      { type: "reasoning", text: "", providerMetadata: { vendor: { redacted: "xyz" } } },
      { type: "text", text: "yes" },
      { type: "tool-call", id: "a", name: "add", input: {}, providerMetadata: { vendor: { thought: "t" } } },
    ]);
    expect(turn.text).toBe("So: yes");
    expect(events).toContainEqual({ type: "reasoning-encrypted-value", encryptedValue: "sig" });
    expect(events.filter(({ type }) => type === "reasoning-delta")).toHaveLength(1);
  });

  it("ends a text block with its vendor data even when a call began before", async () => {
    const providerMetadata = { vendor: { item: "t1" } };
    const { turn } = await collect(text("Hi"), start("a", "add"), { type: "block-end", providerMetadata }, stop("tool-use"));
    expect(turn.content[0]).toEqual({ type: "text", text: "Hi", providerMetadata });
  });

  it("keeps what the vendor ran itself out of our calls and out of the events", async () => {
    const id = toolCallId("s");
    const result = { type: "tool-result", id, name: "search", output: ["x"] } as const;
    const { turn, events } = await collect(
      { type: "tool-call-start", id: "s", name: "search", executed: "provider" },
      input("s", '{"q":"x"}'),
      { type: "content", content: result },
      text("Found."),
      stop(),
    );
    expect(turn.toolCalls).toEqual([]);
    expect(turn.content).toEqual([
      { type: "tool-call", id: "s", name: "search", input: { q: "x" }, executed: "provider" },
      result,
      { type: "text", text: "Found." },
    ]);
    expect(types(events)).toEqual(["text-delta"]);
  });

  it("shows whole parts to clients as deltas, so that they have all the text", async () => {
    const file = { type: "image", source: { type: "url", url: "https://example.test/a.png" } } as const;
    const { turn, events } = await collect(
      text("a"),
      { type: "content", content: { type: "text", text: "b" } },
      { type: "content", content: { type: "reasoning", text: "r", signature: "s" } },
      { type: "content", content: file },
      { type: "content", content: { type: "tool-call", id: toolCallId("c"), name: "add", input: { x: 1 }, providerMetadata: { v: {} } } },
      stop("tool-use"),
    );
    expect(turn.text).toBe("ab");
    expect(events.flatMap((event) => (event.type === "text-delta" ? event.delta : [])).join("")).toBe("ab");
    expect(turn.content).toContainEqual(file);
    expect(turn.content).toContainEqual({ type: "reasoning", text: "r", signature: "s" });
    expect(turn.toolCalls).toEqual([{ id: "c", name: "add", input: { x: 1 } }]);
  });

  it("makes content filtering a failure that keeps the text (I4)", async () => {
    const { turn } = await collect(text("I can"), start("a", "add"), stop("content-filter"));
    expect(turn).toMatchObject({ text: "I can", toolCalls: [], stopReason: "error", failure: { type: "content-filtered" } });
    expect(turn.content).toEqual([{ type: "text", text: "I can" }]);
  });

  it("takes a missing stop for the end of the turn, and logs warnings", async () => {
    const { turn, warnings } = await collect(text("x"), { type: "warning", message: "no topP here" }, { type: "source", source: {} });
    expect(turn.stopReason).toBe("end-turn");
    expect(warnings).toEqual(['{"message":"no topP here"}']);
  });

  it("believes a stream that breaks after its stop", async () => {
    const { turn, events } = await collect(text("done"), stop(), { type: "throw", error: new Error("connection reset") });
    expect(turn).toMatchObject({ text: "done", stopReason: "end-turn" });
    expect(events).toHaveLength(1);
  });

  it("throws what a provider throws as a bug, and what a listener throws", async () => {
    const { AwakenError } = await import("@awaken/contract");
    await expect(collect(text("x"), { type: "throw", error: new AwakenError("internal", "bug") })).rejects.toThrow("bug");
    const clock = fakeClock();
    const broken = infer({
      provider: scripted([parts(text("x"))], { clock }),
      request,
      signal: new AbortController().signal,
      clock,
      ids: countingIds(),
      log: { warn: () => {}, error: () => {} },
      emit: () => {
        throw new Error("listener");
      },
      policy: DEFAULT_INFERENCE_POLICY,
    });
    await expect(broken).rejects.toThrow("listener");
    expect(clock.pendingTimers).toBe(0);
  });
});
