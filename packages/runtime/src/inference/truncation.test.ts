import { type AgentEvent, type InferenceRequest, messageId, messageText, type ToolDescriptor } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { countingIds, fakeClock } from "../testing/fake-clock.ts";
import { failure, parts, SCRIPTED_USAGE, type ScriptedTurn, type ScriptItem, text } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { DEFAULT_INFERENCE_POLICY, type InferencePolicy, infer, type StreamCheckpoint } from "./infer.ts";

const allowed: ToolDescriptor = { id: "allowed", description: "", parameters: {} };
const request: InferenceRequest = {
  model: "override-model",
  system: "Be brief.",
  messages: [{ id: messageId("u1"), role: "user", content: [{ type: "text", text: "Hi" }] }],
  tools: [allowed],
  overrides: { temperature: 0.5, maxTokens: 10 },
  promptCache: true,
};

const say = (delta: string): ScriptItem => ({ type: "text-delta", delta });
const start = (id: string, name: string): ScriptItem => ({ type: "tool-call-start", id, name });
const input = (id: string, delta: string): ScriptItem => ({ type: "tool-call-delta", id, delta });
const truncated = (...items: ScriptItem[]): ScriptedTurn =>
  parts(...items, { type: "usage", usage: SCRIPTED_USAGE }, { type: "stop", reason: "max-tokens" });

async function play(turns: readonly ScriptedTurn[], policy: Partial<InferencePolicy> = {}) {
  const clock = fakeClock();
  const events: AgentEvent[] = [];
  const saves: StreamCheckpoint[] = [];
  using provider = scripted(turns, { clock });
  const inferred = infer({
    provider,
    request,
    signal: new AbortController().signal,
    clock,
    ids: countingIds(),
    log: { warn: () => {}, error: () => {} },
    emit: (event) => events.push(event),
    policy: { ...DEFAULT_INFERENCE_POLICY, ...policy },
    checkpoints: {
      load: async () => undefined,
      save: async (checkpoint) => {
        saves.push(checkpoint);
      },
      delete: async () => {},
    },
  });
  await clock.runAll();
  const { turn, inserted } = await inferred;
  const seen = events.flatMap((event) => (event.type === "text-delta" ? event.delta : [])).join("");
  const stored = inserted.filter(({ role }) => role === "assistant").map(messageText);
  expect([...stored, turn.text].join("")).toBe(seen);
  expect(clock.pendingTimers).toBe(0);
  return { turn, inserted, events, saves, requests: provider.requests };
}

describe("truncation recovery", () => {
  it("inference 24: asks for more while the token limit cuts the text, and takes the last part as the answer", async () => {
    const { turn, inserted, requests } = await play([truncated(say("one ")), truncated(say("two ")), text("three")]);
    expect(requests).toHaveLength(3);
    expect(turn).toMatchObject({ text: "three", stopReason: "end-turn" });
    expect(inserted.map(({ role, visibility }) => [role, visibility])).toEqual([
      ["assistant", undefined],
      ["user", "internal"],
      ["assistant", undefined],
      ["user", "internal"],
    ]);
    expect(inserted.map(messageText)[0]).toBe("one ");
    expect(inserted.map(messageText)[1]).toMatch(/smaller pieces/);
    expect(requests[2]?.messages).toEqual([...request.messages, ...inserted]);
    expect(new Set(inserted.map(({ id }) => id)).size).toBe(4);
    expect(turn.usage).toEqual({ inputTokens: 30, outputTokens: 15, totalTokens: 45 });
  });

  it("inference 24: stops after two continuations and takes what there is", async () => {
    const { turn, inserted } = await play([truncated(say("a")), truncated(say("b")), truncated(say("c"))]);
    expect(turn).toMatchObject({ text: "c", stopReason: "max-tokens" });
    expect(inserted).toHaveLength(4);
  });

  it("inference 24: does not continue beside a complete call, with 0 retries, or after an empty answer", async () => {
    const withCall = await play([truncated(say("a"), start("c", "add"), input("c", "{}"), start("d", "add"), input("d", "{"))]);
    expect(withCall.turn).toMatchObject({ stopReason: "max-tokens", toolCalls: [{ id: "c" }], malformedCalls: [{ id: "d" }] });
    expect(withCall.inserted).toEqual([]);
    expect((await play([truncated(say("a"))], { maxContinuationRetries: 0 })).inserted).toEqual([]);
    expect((await play([truncated()])).turn).toMatchObject({ text: "", stopReason: "max-tokens" });
  });

  it("inference 25: keeps the tools, instructions and parameters of the request (I11)", async () => {
    const { requests } = await play([truncated(say("a")), text("b")]);
    const { messages: _first, ...first } = requests[0] ?? request;
    const { messages: _second, ...second } = requests[1] ?? request;
    expect(second).toEqual(first);
    expect(second).toMatchObject({ tools: [allowed], system: "Be brief.", overrides: { temperature: 0.5 } });
  });

  it("inference 26: keeps the model that an override asked for", async () => {
    const { requests } = await play([truncated(say("a")), text("b")]);
    expect(requests.map(({ model }) => model)).toEqual(["override-model", "override-model"]);
  });

  it("continues after a cut call without text, and inserts no empty message (I11)", async () => {
    const again = parts(start("e", "add"), input("e", "{}"), { type: "stop", reason: "tool-use" });
    const { turn, inserted, events } = await play([truncated(start("c", "add"), input("c", '{"x"')), again]);
    expect(inserted.map(({ role }) => role)).toEqual(["user"]);
    expect(turn).toMatchObject({ toolCalls: [{ id: "e" }], malformedCalls: [], stopReason: "tool-use" });
    expect(events).toContainEqual({ type: "tool-call-cancel", toolCallId: "c", toolName: "add", reason: "output token limit" });
  });

  it("stores signed reasoning with the part it belongs to", async () => {
    const { inserted } = await play([
      truncated({ type: "reasoning-delta", delta: "hm" }, { type: "block-end", signature: "s" }, say("a")),
      text("b"),
    ]);
    expect(inserted[0]?.content).toEqual([
      { type: "reasoning", text: "hm", signature: "s" },
      { type: "text", text: "a" },
    ]);
  });

  it("recovers a broken continuation like any stream, from the continued request", async () => {
    const broken = parts(say("t"), { type: "throw", error: new Error("econnreset") });
    const { turn, inserted, requests } = await play([truncated(say("one ")), broken, text("wo")]);
    expect(turn.text).toBe("two");
    expect(requests[2]?.messages.slice(0, 3)).toEqual([...request.messages, ...inserted]);
    expect(requests[2]?.messages).toHaveLength(5);
  });

  it("keeps what was inserted when the continuation fails", async () => {
    const { turn, inserted } = await play([truncated(say("one ")), failure("unauthorized")]);
    expect(turn).toMatchObject({ text: "", failure: { type: "unauthorized" } });
    expect(inserted).toHaveLength(2);
  });

  it("makes checkpoints of the first answer only", async () => {
    const many = [say("1"), say("2"), say("3"), say("4")];
    const { saves } = await play([truncated(...many), truncated(...many), text("end")]);
    expect(saves.map((save) => save.text)).toEqual(["1234"]);
  });
});
