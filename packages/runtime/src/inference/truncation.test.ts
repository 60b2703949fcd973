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

async function play(turns: readonly ScriptedTurn[], policy: Partial<InferencePolicy> = {}, sent = request) {
  const clock = fakeClock();
  const events: AgentEvent[] = [];
  const saves: StreamCheckpoint[] = [];
  using provider = scripted(turns, { clock });
  const inferred = infer({
    provider,
    request: sent,
    signal: new AbortController().signal,
    clock,
    ids: countingIds(),
    log: { warn: () => {}, error: () => {} },
    emit: (event) => events.push(event),
    policy: { ...DEFAULT_INFERENCE_POLICY, ...policy },
    checkpoints: async () => ({
      load: async () => undefined,
      save: async (checkpoint) => {
        saves.push(checkpoint);
      },
      delete: async () => {},
    }),
  });
  await clock.runAll();
  const { turn, plea } = await inferred;
  const seen = events.reduce((sofar, event) => {
    if (event.type === "stream-reset") return "";
    return event.type === "text-delta" ? sofar + event.delta : sofar;
  }, "");
  expect(turn.text).toBe(seen);
  expect(turn.content.flatMap((part) => (part.type === "text" ? part.text : [])).join("")).toBe(seen);
  expect(clock.pendingTimers).toBe(0);
  return { turn, plea, events, saves, requests: provider.requests };
}

const added = (sent: InferenceRequest | undefined) =>
  sent?.messages.slice(request.messages.length).map((each) => [each.role, messageText(each)]);

describe("truncation recovery", () => {
  it("inference 24: asks for more while the token limit cuts the text, and takes all parts as one answer", async () => {
    const { turn, plea, events, requests } = await play([truncated(say("one ")), truncated(say("two ")), text("three")]);
    expect(requests).toHaveLength(3);
    expect(turn).toMatchObject({ text: "one two three", stopReason: "end-turn", content: [{ type: "text", text: "one two three" }] });
    expect(events).toEqual([say("one "), say("two "), say("three")]);
    expect(plea).toMatchObject({ role: "user", visibility: "internal" });
    const asked = plea === undefined ? "" : messageText(plea);
    expect(asked).toMatch(/smaller pieces/);
    expect(added(requests[1])).toEqual([
      ["assistant", "one "],
      ["user", asked],
    ]);
    expect(added(requests[2])).toEqual([
      ["assistant", "one two "],
      ["user", asked],
    ]);
    expect(turn.usage).toEqual({ inputTokens: 30, outputTokens: 15, totalTokens: 45 });
  });

  it("inference 24: stops after two continuations and keeps what there is", async () => {
    const { turn, requests } = await play([truncated(say("a")), truncated(say("b")), truncated(say("c"))]);
    expect(turn).toMatchObject({ text: "abc", stopReason: "max-tokens" });
    expect(requests).toHaveLength(3);
  });

  it("inference 24: does not continue beside a complete call, with 0 retries, or after an answer that adds nothing", async () => {
    const withCall = await play([truncated(say("a"), start("c", "add"), input("c", "{}"), start("d", "add"), input("d", "{"))]);
    expect(withCall.turn).toMatchObject({ stopReason: "max-tokens", toolCalls: [{ id: "c" }], malformedCalls: [{ id: "d" }] });
    expect(withCall.plea).toBeUndefined();
    expect(await play([truncated(say("a"))], { maxContinuationRetries: 0 })).toMatchObject({ plea: undefined, turn: { text: "a" } });
    expect((await play([truncated()])).turn).toMatchObject({ text: "", stopReason: "max-tokens" });
    expect((await play([truncated(say("a")), truncated()])).turn).toMatchObject({ text: "a", stopReason: "max-tokens" });
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
    const { turn, requests, events } = await play([truncated(start("c", "add"), input("c", '{"x"')), again]);
    expect(added(requests[1])?.map(([role]) => role)).toEqual(["user"]);
    expect(turn).toMatchObject({ toolCalls: [{ id: "e" }], malformedCalls: [], stopReason: "tool-use" });
    expect(events).toContainEqual({ type: "tool-call-cancel", toolCallId: "c", toolName: "add", reason: "output token limit" });
  });

  it("keeps signed reasoning with the part it belongs to, in the request and in the answer", async () => {
    const think = (delta: string, signature: string): ScriptItem[] => [
      { type: "reasoning-delta", delta },
      { type: "block-end", signature },
    ];
    const { turn, requests } = await play([truncated(...think("hm", "s"), say("a")), parts(...think("so", "t"), say("b"))]);
    const first = [
      { type: "reasoning", text: "hm", signature: "s" },
      { type: "text", text: "a" },
    ];
    expect(requests[1]?.messages[1]?.content).toEqual(first);
    expect(turn.content).toEqual([...first, { type: "reasoning", text: "so", signature: "t" }, { type: "text", text: "b" }]);
  });

  it("takes the calls of the part that went on, behind all that was said", async () => {
    const more = parts(say("let me add"), start("e", "add"), input("e", '{"x":1}'), { type: "stop", reason: "tool-use" });
    const { turn, events } = await play([truncated(say("Well, "), start("c", "add"), input("c", '{"x"')), more]);
    expect(turn).toMatchObject({
      text: "Well, let me add",
      content: [
        { type: "text", text: "Well, let me add" },
        { type: "tool-call", id: "e" },
      ],
      toolCalls: [{ id: "e", input: { x: 1 } }],
      malformedCalls: [],
    });
    expect(events.filter(({ type }) => type === "tool-call-ready")).toHaveLength(1);
  });

  it("puts a character together that the limit cut in two, and leaves text of the vendor's own items apart", async () => {
    const [high, low] = ["\ud83d", "\ude00"];
    const { turn } = await play([truncated(say(`smile ${high}`), { type: "block-end" }), text(`${low}!`)]);
    expect(turn.content).toEqual([{ type: "text", text: "smile 😀!" }]);
    const item = (id: string): ScriptItem => ({ type: "block-end", providerMetadata: { openai: { itemId: id } } });
    const items = await play([truncated(say("a"), item("1")), parts(say("b"), item("2"))]);
    expect(items.turn.content).toMatchObject([
      { text: "a", providerMetadata: { openai: { itemId: "1" } } },
      { text: "b", providerMetadata: { openai: { itemId: "2" } } },
    ]);
  });

  it("recovers a broken continuation like any stream, after all that was said", async () => {
    const broken = parts(say("t"), { type: "throw", error: new Error("econnreset") });
    const { turn, requests, events } = await play([truncated(say("one ")), broken, text("wo")]);
    expect(turn.text).toBe("one two");
    expect(added(requests[2])?.map(([role, said]) => (role === "user" ? role : said))).toEqual(["one t", "user"]);
    expect(events.map(({ type }) => type)).toEqual(["text-delta", "text-delta", "inference-retry", "text-delta"]);
  });

  it("does not take back the first part when the continuation breaks before it says anything", async () => {
    const broken = parts({ type: "throw", error: new Error("econnreset") });
    const { turn, events } = await play([truncated(say("one ")), broken, text("two")]);
    expect(turn.text).toBe("one two");
    expect(events.map(({ type }) => type)).not.toContain("stream-reset");
  });

  it("asks for the rest of a cut answer without the schema of a whole one, and for all of it when that breaks", async () => {
    const responseFormat = { schema: { type: "object" } };
    const whole = { ...request, responseFormat };
    const going = await play([truncated(say('{"city":"Os')), text('lo"}')], {}, whole);
    expect(going.turn.text).toBe('{"city":"Oslo"}');
    expect(going.requests.map((sent) => sent.responseFormat)).toEqual([responseFormat, undefined]);
    const broken = parts(say("lo"), { type: "throw", error: new Error("econnreset") });
    const anew = await play([truncated(say('{"city":"Os')), broken, text('{"city":"Oslo"}')], {}, whole);
    expect(anew.turn.text).toBe('{"city":"Oslo"}');
    expect(anew.requests.map((sent) => sent.responseFormat)).toEqual([responseFormat, undefined, responseFormat]);
    expect(anew.requests[2]?.messages).toEqual(request.messages);
  });

  it("keeps what was said when the continuation fails", async () => {
    const { turn, plea } = await play([truncated(say("one ")), failure("unauthorized")]);
    expect(turn).toMatchObject({ text: "one ", failure: { type: "unauthorized" } });
    expect(plea).toBeDefined();
  });

  it("makes checkpoints of the first answer only", async () => {
    const many = [say("1"), say("2"), say("3"), say("4")];
    const { saves } = await play([truncated(...many), truncated(...many), text("end")]);
    expect(saves.map((save) => save.text)).toEqual(["1234"]);
  });
});
