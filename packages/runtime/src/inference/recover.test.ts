import { getEventListeners } from "node:events";
import {
  type AgentEvent,
  InferenceError,
  type InferenceFailure,
  type InferenceRequest,
  messageId,
  messageText,
  type Provider,
  toolCallId,
} from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { countingIds, fakeClock } from "../testing/fake-clock.ts";
import { cut, failure, parts, type ScriptedTurn, type ScriptItem, stall, text } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { DEFAULT_INFERENCE_POLICY, type InferencePolicy, infer } from "./infer.ts";
import { breakCause } from "./recovery-plan.ts";

const request: InferenceRequest = {
  model: "m",
  system: "",
  messages: [{ id: messageId("u1"), role: "user", content: [{ type: "text", text: "Hi" }] }],
  tools: [],
  promptCache: true,
};

const say = (delta: string): ScriptItem => ({ type: "text-delta", delta });
const start = (id: string, name: string): ScriptItem => ({ type: "tool-call-start", id, name });
const input = (id: string, delta: string): ScriptItem => ({ type: "tool-call-delta", id, delta });
const RESET = new Error("connection reset by peer");
const broken = (...items: ScriptItem[]): ScriptedTurn => parts(...items, { type: "throw", error: RESET });

interface Setup {
  readonly policy?: Partial<InferencePolicy>;
  readonly request?: Partial<InferenceRequest>;
}

function setup(turns: readonly ScriptedTurn[], { policy = {}, request: changes = {} }: Setup = {}) {
  const clock = fakeClock();
  const events: AgentEvent[] = [];
  const reports: (InferenceFailure | "drained")[] = [];
  const controller = new AbortController();
  const model = scripted(turns, { clock });
  const provider: Provider = {
    name: model.name,
    stream: model.stream,
    observer: { drained: () => reports.push("drained"), failed: (_, reported) => reports.push(reported) },
  };
  const inferred = infer({
    provider,
    request: { ...request, ...changes },
    signal: controller.signal,
    clock,
    ids: countingIds(),
    log: { warn: () => {}, error: () => {} },
    emit: (event) => events.push(event),
    policy: { ...DEFAULT_INFERENCE_POLICY, ...policy },
  });
  return { clock, events, reports, controller, requests: model.requests, inferred };
}

async function play(turns: readonly ScriptedTurn[], options: Setup = {}) {
  const { clock, events, reports, requests, inferred } = setup(turns, options);
  await clock.runAll();
  const { turn, lostCall } = await inferred;
  expect(clock.pendingTimers).toBe(0);
  const seen = events.reduce((sofar, event) => {
    if (event.type === "stream-reset") return "";
    return event.type === "text-delta" ? sofar + event.delta : sofar;
  }, "");
  expect(seen).toBe(turn.text);
  return { turn, lostCall, events, reports, requests, types: events.map(({ type }) => type) };
}

describe("mid-stream recovery", () => {
  it("inference 14: goes on after the text, and the result is prefix and continuation (R1)", async () => {
    const { turn, requests, types, events, reports } = await play([broken(say("Hel"), say("lo ")), text("world")]);
    expect(requests).toHaveLength(2);
    const added = requests[1]?.messages.slice(1) ?? [];
    expect(added.map(({ role }) => role)).toEqual(["assistant", "user"]);
    expect(added.map(messageText)[0]).toBe("Hello ");
    expect(added.map(messageText)[1]).toMatch(/interrupted.*[Cc]ontinue/);
    expect(requests[1]).toMatchObject({ promptCache: true, routing: requests[0]?.routing ?? {} });
    expect(turn).toMatchObject({ text: "Hello world", stopReason: "end-turn" });
    expect(types).toEqual(["text-delta", "text-delta", "inference-retry", "text-delta"]);
    expect(events[2]).toMatchObject({ attempt: 1, reason: "connection reset by peer" });
    expect(reports).toEqual([{ type: "provider", message: "connection reset by peer" }, "drained"]);
  });

  it("keeps all text blocks, also those that were closed before the break (I9), and sends the whole prefix each time", async () => {
    const end: ScriptItem = { type: "block-end" };
    const { turn, requests } = await play([broken(say("a"), end, say("b")), broken(say("c")), text("d")]);
    expect(requests.map(({ messages }) => messages[1] && messageText(messages[1]))).toEqual([undefined, "ab", "abc"]);
    expect(requests.map(({ messages }) => messages.length)).toEqual([1, 3, 3]);
    expect(turn.text).toBe("abcd");
  });

  it("inference 15: runs the call that came whole and asks nothing (R2)", async () => {
    const { turn, events, requests } = await play([
      broken(say("ok"), start("a", "add"), input("a", '{"x":1}'), start("b", "sub"), input("b", '{"y"')),
    ]);
    expect(requests).toHaveLength(1);
    expect(turn).toMatchObject({ text: "ok", stopReason: "tool-use", toolCalls: [{ id: "a", name: "add", input: { x: 1 } }] });
    expect(turn.content.map(({ type }) => type)).toEqual(["text", "tool-call"]);
    expect(turn.malformedCalls).toEqual([]);
    expect(events.slice(-2)).toEqual([
      { type: "tool-call-cancel", toolCallId: "b", toolName: "sub", reason: "connection reset" },
      { type: "tool-call-ready", toolCallId: "a", toolName: "add", input: { x: 1 }, runsAt: "server", dynamic: false },
    ]);
  });

  it("inference 16: names the lost call, and none when there was none", async () => {
    const complete = [start("a", "add"), input("a", "{}")];
    expect((await play([broken(...complete, start("b", "sub"))])).lostCall).toEqual({ id: "b", name: "sub" });
    expect((await play([broken(...complete)])).lostCall).toBeUndefined();
    expect((await play([text("fine")])).lostCall).toBeUndefined();
  });

  it("does not take a number, or an input that has not begun, for a whole one", async () => {
    const { turn, lostCall } = await play([broken(start("a", "x"), input("a", "{}"), start("b", "y"), input("b", "12"), start("c", "z"))]);
    expect(turn.toolCalls.map(({ id }) => id)).toEqual(["a"]);
    expect(lostCall).toEqual({ id: "c", name: "z" });
  });

  it("inference 17: drops an open call after text and goes on (R3)", async () => {
    const { turn, events, types, requests } = await play([broken(say("Let me "), start("a", "add"), input("a", '{"x"')), text("see")]);
    expect(types).not.toContain("stream-reset");
    expect(events).toContainEqual({ type: "tool-call-cancel", toolCallId: "a", toolName: "add", reason: "connection reset" });
    expect(requests[1]?.messages).toHaveLength(3);
    expect(turn).toMatchObject({ text: "Let me see", toolCalls: [] });
  });

  it("may begin the dropped call again after that, under its old id", async () => {
    const again = parts(start("a", "add"), input("a", '{"x":1}'), { type: "stop", reason: "tool-use" });
    const { turn, types } = await play([broken(say("Hm "), start("a", "add"), input("a", '{"x"')), again]);
    expect(turn.toolCalls).toEqual([{ id: "a", name: "add", input: { x: 1 } }]);
    expect(types.filter((type) => type === "tool-call-ready")).toHaveLength(1);
  });

  it("inference 18: starts over with the same request when there is nothing to keep (R4)", async () => {
    for (const items of [[], [start("a", "add"), input("a", "{")], [say("\n"), { type: "reasoning-delta", delta: "hm" } as const]]) {
      const { turn, events, requests } = await play([broken(...items), text("done")]);
      expect(events).toContainEqual({ type: "stream-reset", reason: "connection reset" });
      expect(requests[1]).toEqual(requests[0]);
      expect(turn).toMatchObject({ text: "done", content: [{ type: "text", text: "done" }] });
    }
  });

  it("starts over where two halves would not fit together", async () => {
    const responseFormat = { schema: { type: "object" } };
    const { turn, types } = await play([broken(say('{"a":')), text('{"a":1}')], { request: { responseFormat } });
    expect(types).toEqual(["text-delta", "stream-reset", "inference-retry", "text-delta"]);
    expect(turn.text).toBe('{"a":1}');
  });

  it("inference 19: gives up after three streams", async () => {
    const { turn, requests } = await play([broken(), broken(say("a")), broken()]);
    expect(requests).toHaveLength(3);
    expect(turn).toMatchObject({
      text: "a",
      stopReason: "error",
      failure: { type: "stream-interrupted", message: "stream interrupted (connection reset)" },
    });
  });

  it("tells a failure that nobody knows in its own words, when it gives up", async () => {
    const mistake = parts({ type: "throw", error: new TypeError("x is not a function") });
    const { turn } = await play([mistake, mistake, mistake]);
    expect(turn).toMatchObject({ failure: { message: "stream interrupted (connection reset: x is not a function)" } });
  });

  it("honours the agent's own budget (I7)", async () => {
    const { requests, turn } = await play([broken()], { policy: { maxStreamRetries: 0 } });
    expect(requests).toHaveLength(1);
    expect(turn.stopReason).toBe("error");
  });

  it("inference 20: runs a whole call even when the budget is spent (I10)", async () => {
    const { turn, requests } = await play([broken(), broken(), broken(start("a", "add"), input("a", "{}"))]);
    expect(requests).toHaveLength(3);
    expect(turn).toMatchObject({ stopReason: "tool-use", toolCalls: [{ id: "a" }] });
  });

  it("inference 21: takes 60 s of silence for a stall, 120 s from a model that thinks, and asks again after 200 ms", async () => {
    const stalledAfter = async (changes: Partial<InferenceRequest>) => {
      const { clock, events, requests, reports, inferred } = setup([stall(text("a", "b"), 1), text("c")], { request: changes });
      await clock.advance(59_999);
      const early = reports.length;
      // It is looked for 32 times within the limit, from the first look after the last part on.
      await clock.advance(1 + 60_000 / 32);
      const onTime = reports.length;
      await clock.advance(60_000 + 60_000 / 32);
      const late = reports.filter((report) => report !== "drained");
      expect(late).toEqual([{ type: "stream-interrupted", message: "idle stall" }]);
      await clock.advance(199);
      const before = requests.length;
      await clock.advance(1);
      expect((await inferred).turn.text).toBe("ac");
      expect(events.at(-1)).toEqual({ type: "text-delta", delta: "c" });
      return { early, onTime, before };
    };
    expect(await stalledAfter({})).toEqual({ early: 0, onTime: 1, before: 2 });
    expect(await stalledAfter({ model: "o3-mini" })).toEqual({ early: 0, onTime: 0, before: 1 });
    expect(await stalledAfter({ overrides: { reasoningEffort: "low" } })).toEqual({ early: 0, onTime: 0, before: 1 });
  });

  it("starts the window again with every part", async () => {
    const wait: ScriptItem = { type: "wait", ms: 50_000 };
    const { clock, inferred, reports } = setup([
      parts(wait, say("a"), wait, { type: "usage", usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 } }, wait, say("b")),
    ]);
    await clock.advance(150_000);
    expect((await inferred).turn.text).toBe("ab");
    expect(reports).toEqual(["drained"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("counts the silence from the last part, not from when it looked", async () => {
    const { clock, reports } = setup([parts({ type: "wait", ms: 30_000 }, say("a"), { type: "hang" }), text("b")]);
    await clock.advance(89_999);
    expect(reports).toEqual([]);
    await clock.advance(1);
    expect(reports).toHaveLength(1);
  });

  it("closes every stream that it does not read to its end, and leaves no listener on its signal", async () => {
    for (const how of ["stall", "abort", "error", "end"] as const) {
      const clock = fakeClock();
      const controller = new AbortController();
      const signals: AbortSignal[] = [];
      let closed = 0;
      const iterator = {
        next: async () => {
          if (how === "end") return { done: true as const, value: undefined };
          if (how === "error") throw new Error("401");
          return new Promise<never>(() => {});
        },
        return: async () => {
          closed += 1;
          return { done: true as const, value: undefined };
        },
      };
      const provider: Provider = {
        name: "p",
        stream: (_, { signal }) => {
          signals.push(signal);
          return { [Symbol.asyncIterator]: () => iterator };
        },
      };
      const inferred = infer({
        provider,
        request,
        signal: controller.signal,
        clock,
        ids: countingIds(),
        log: { warn: () => {}, error: () => {} },
        emit: () => {},
        policy: { ...DEFAULT_INFERENCE_POLICY, maxStreamRetries: 0 },
      });
      await clock.advance(how === "abort" ? 1 : 60_000);
      controller.abort();
      await inferred;
      expect([how, closed]).toEqual([how, how === "end" ? 0 : 1]);
      expect(signals.flatMap((signal) => getEventListeners(signal, "abort"))).toEqual([]);
    }
  });

  it("breaks a stalled connection off, and hears nothing from it any more", async () => {
    const signals: AbortSignal[] = [];
    const clock = fakeClock();
    const late = Promise.withResolvers<void>();
    const inner = scripted([parts({ type: "until", promise: late.promise }, say("late")), text("good")], { clock });
    const events: AgentEvent[] = [];
    const inferred = infer({
      provider: {
        name: "p",
        stream: (asked, options) => {
          signals.push(options.signal);
          return inner.stream(asked, options);
        },
      },
      request,
      signal: new AbortController().signal,
      clock,
      ids: countingIds(),
      log: { warn: () => {}, error: () => {} },
      emit: (event) => events.push(event),
      policy: DEFAULT_INFERENCE_POLICY,
    });
    await clock.advance(60_000);
    expect(signals[0]?.aborted).toBe(true);
    late.resolve();
    await clock.advance(200);
    expect((await inferred).turn.text).toBe("good");
    expect(events).not.toContainEqual(say("late"));
  });

  it("waits as long as the failure asks for before the next stream", async () => {
    const busy = new InferenceError({ type: "overloaded", message: "full", retryAfterMs: 9000 });
    const { clock, requests, inferred } = setup([cut(text("a"), 1, busy), cut(text("b"), 1), text("c")]);
    await clock.advance(8999);
    expect(requests).toHaveLength(1);
    await clock.advance(1);
    expect(requests).toHaveLength(2);
    await clock.advance(999);
    expect(requests).toHaveLength(2);
    await clock.advance(1);
    expect((await inferred).turn.text).toBe("abc");
  });

  it("inference 8, 22: lets a permanent failure in the stream be the end, once, with the text so far", async () => {
    const denied = Object.assign(new Error("forbidden"), { statusCode: 403 });
    const { turn, requests, reports, types } = await play([
      parts(say("Hel"), start("a", "add"), input("a", "{}"), { type: "throw", error: denied }),
    ]);
    expect(requests).toHaveLength(1);
    expect(turn).toMatchObject({ text: "Hel", toolCalls: [], stopReason: "error", failure: { type: "unauthorized" } });
    expect(turn.content).toEqual([{ type: "text", text: "Hel" }]);
    expect(reports).toEqual([{ type: "unauthorized", message: "forbidden" }]);
    expect(types).not.toContain("tool-call-ready");
  });

  it("goes on trying when the next stream does not open, and then says why it broke", async () => {
    const saved = await play([broken(say("a")), failure("provider"), failure("provider"), failure("provider"), text("b")]);
    expect(saved.turn).toMatchObject({ text: "ab", stopReason: "end-turn" });
    const refused = await play([broken(say("a")), failure("model-not-found")]);
    expect(refused.turn).toMatchObject({ text: "a", failure: { type: "model-not-found" } });
  });

  it("inference 23: keeps the text, drops the calls and reports nothing when it is aborted", async () => {
    const { clock, controller, inferred, reports, events } = setup([stall(parts(say("Hel"), start("a", "add"), input("a", "{}")), 3)]);
    await clock.advance(10);
    controller.abort();
    const { turn } = await inferred;
    expect(turn).toMatchObject({ text: "Hel", content: [{ type: "text", text: "Hel" }], toolCalls: [], stopReason: "end-turn" });
    expect(reports).toEqual([]);
    expect(events.map(({ type }) => type)).toEqual(["text-delta", "tool-call-start", "tool-call-delta"]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("ends at once when it is aborted between two streams", async () => {
    const { clock, controller, inferred, requests } = setup([broken(say("a"))]);
    await clock.advance(100);
    controller.abort();
    expect((await inferred).turn).toMatchObject({ text: "a", stopReason: "end-turn" });
    expect(requests).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it("pays for every stream", async () => {
    const usage: ScriptItem = { type: "usage", usage: { inputTokens: 7, outputTokens: 0, totalTokens: 7 } };
    const { turn } = await play([broken(usage), broken(usage, say("a")), text("b")]);
    expect(turn.usage).toEqual({ inputTokens: 24, outputTokens: 5, totalTokens: 29 });
  });

  it("keeps vendor calls that have their result, and drops those that have not", async () => {
    const run = (id: string): ScriptItem => ({ type: "tool-call-start", id, name: "search", executed: "provider" });
    const found: ScriptItem = {
      type: "content",
      content: { type: "tool-result", id: toolCallId("s1"), name: "search", output: [] },
    };
    const { turn } = await play([broken(run("s1"), found, say("a"), run("s2")), text("b")]);
    expect(turn.content.map((part) => ("id" in part ? `${part.type} ${part.id}` : part.type))).toEqual([
      "tool-call s1",
      "tool-result s1",
      "text",
    ]);
  });
});

describe("breakCause", () => {
  it("reads the cause from the text", () => {
    const cause = (message: string) => breakCause({ type: "provider", message });
    expect(cause("HTTP/2 GOAWAY received")).toBe("goaway");
    expect(cause("server sent Connection: close")).toBe("goaway");
    expect(cause("read ECONNRESET")).toBe("connection reset");
    expect(cause("503 upstream")).toBe("provider 503 mid-stream");
    expect(cause("got 502 Bad Gateway")).toBe("provider 503 mid-stream");
    expect(cause("who knows")).toBe("connection reset");
    expect(breakCause({ type: "stream-interrupted", message: "stream interrupted (goaway)" })).toBe("goaway");
  });
});
