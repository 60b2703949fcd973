import { getEventListeners } from "node:events";
import { type AgentEvent, AwakenError, InferenceError, type InferenceRequest, type Provider, type StreamPart } from "@awaken/contract";
import { describe, expect, it, vi } from "vitest";
import { countingIds, type FakeClock, fakeClock } from "../testing/fake-clock.ts";
import { failure, parts, type ScriptedTurn, text } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { DEFAULT_INFERENCE_POLICY, type InferencePolicy, type InferenceRun, infer } from "./infer.ts";
import { seldom } from "./seldom-door.ts";

const request: InferenceRequest = { model: "m", system: "", messages: [], tools: [], promptCache: false };
const log = { warn: () => {}, error: () => {} };

function setup(provider: Provider, policy: Partial<InferencePolicy> = {}, clock = fakeClock()) {
  const controller = new AbortController();
  const waits: number[] = [];
  const recording: typeof clock = {
    ...clock,
    get pendingTimers() {
      return clock.pendingTimers;
    },
    timer(ms, fire) {
      waits.push(ms);
      return clock.timer(ms, fire);
    },
  };
  const run: InferenceRun = {
    provider,
    request,
    signal: controller.signal,
    clock: recording,
    ids: countingIds(),
    log,
    emit: () => {},
    policy: { ...DEFAULT_INFERENCE_POLICY, ...policy },
  };
  return { run, clock, controller, waits };
}

async function play(turns: readonly ScriptedTurn[], policy: Partial<InferencePolicy> = {}) {
  const provider = scripted(turns);
  const { run, clock, waits } = setup(provider, { streamIdleTimeoutMs: 0, ...policy });
  const events: AgentEvent[] = [];
  const result = infer({ ...run, emit: (event) => events.push(event) });
  await clock.runAll();
  const { turn } = await result;
  expect(clock.pendingTimers).toBe(0);
  return { turn, calls: provider.requests.length, waits, events };
}

const opened = (async function* (): AsyncGenerator<StreamPart> {})();

describe("opening a stream", () => {
  it("tells of each retry, its wait and its reason, and of none that does not follow", async () => {
    const retries = async (turns: readonly ScriptedTurn[]) =>
      (await play(turns)).events.flatMap((event) => (event.type === "inference-retry" ? [event] : []));
    expect(await retries([failure("provider", "bad gateway"), failure("rate-limited", "slow down"), text("ok")])).toEqual([
      { type: "inference-retry", attempt: 1, delayMs: expect.any(Number), reason: "bad gateway" },
      { type: "inference-retry", attempt: 2, delayMs: expect.any(Number), reason: "slow down" },
    ]);
    expect(await retries([failure("provider"), failure("provider"), failure("provider")])).toHaveLength(2);
    expect(await retries([failure("unauthorized")])).toEqual([]);
  });

  it("inference 10: tries three times after transient failures, once after a permanent one", async () => {
    const retried = await play([failure("provider"), failure("timeout"), text("ok")]);
    expect(retried).toMatchObject({ calls: 3, turn: { text: "ok", stopReason: "end-turn" } });

    const spent = await play([failure("provider"), failure("provider"), failure("rate-limited", "slow down")]);
    expect(spent).toMatchObject({ calls: 3, turn: { failure: { type: "rate-limited", message: "rate limited: slow down" } } });

    const refused = await play([failure("unauthorized")]);
    expect(refused).toMatchObject({ calls: 1, turn: { stopReason: "error", failure: { type: "unauthorized" } } });

    expect(await play([failure("provider")], { maxRetries: 0 })).toMatchObject({ calls: 1, turn: { failure: { type: "provider" } } });
  });

  it("inference 11: waits 500, 1000, … up to 8000 ms, and from 2000 ms when overloaded", async () => {
    const many = (type: "provider" | "overloaded") => Array.from({ length: 7 }, () => failure(type));
    expect((await play(many("provider"), { maxRetries: 6 })).waits).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
    expect((await play(many("overloaded"), { maxRetries: 6 })).waits).toEqual([2000, 4000, 8000, 8000, 8000, 8000]);
    expect((await play(many("provider"), { maxRetries: 6, backoffBaseMs: 0 })).waits).toEqual([]);
  });

  it("inference 12: waits as long as the vendor says when that is longer", async () => {
    const wait = async (retryAfterMs: number) =>
      (await play([failure("rate-limited", "busy", retryAfterMs), failure("unauthorized")])).waits;
    // What a provider reads out of a header may be no number, or lie in the past: the usual wait then.
    for (const odd of [Number.NaN, -5, Number.NEGATIVE_INFINITY]) expect(await wait(odd)).toEqual(await wait(0));
    expect(await wait(30_000)).toEqual([30_000]);
    expect(await wait(100)).toEqual([500]);
  });

  it("inference 13: ends promptly when it is aborted while opening or waiting, and leaves nothing behind", async () => {
    let closed = 0;
    let finish = (_: AsyncIterable<StreamPart>) => {};
    const hanging: Provider = {
      name: "hanging",
      stream: () => new Promise((resolve) => (finish = resolve)),
    };
    const opening = setup(hanging);
    const first = infer(opening.run);
    await opening.clock.advance(10);
    opening.controller.abort();
    expect((await first).turn).toMatchObject({ text: "", toolCalls: [], stopReason: "end-turn" });
    expect(opening.clock.pendingTimers).toBe(0);

    finish({
      [Symbol.asyncIterator]: () => ({
        ...opened,
        next: () => opened.next(),
        return: async () => {
          closed += 1;
          return { done: true, value: undefined };
        },
      }),
    });
    await opening.clock.advance(0);
    expect(closed).toBe(1);

    const provider = scripted([failure("overloaded")]);
    const waiting = setup(provider);
    const second = infer(waiting.run);
    await waiting.clock.advance(10);
    expect(waiting.clock.pendingTimers).toBe(1);
    waiting.controller.abort();
    expect((await second).turn.stopReason).toBe("end-turn");
    expect(waiting.clock.pendingTimers).toBe(0);
    expect(provider.requests).toHaveLength(1);
  });

  it("asks nobody when it is aborted before it begins", async () => {
    const provider = scripted([]);
    const { run, controller } = setup(provider);
    controller.abort();
    expect((await infer(run)).turn.stopReason).toBe("end-turn");
    expect(provider.requests).toHaveLength(0);
  });

  it("throws what is a bug of the provider, and leaves nothing behind", async () => {
    const sync = setup(scripted([]));
    await expect(infer(sync.run)).rejects.toMatchObject({ code: "inference_failed" });
    const later: Provider = {
      name: "later",
      stream: async () => {
        throw new AwakenError("internal", "bug");
      },
    };
    const async = setup(later);
    await expect(infer(async.run)).rejects.toThrow("bug");
    expect(async.clock.pendingTimers).toBe(0);
    expect(getEventListeners(async.run.signal, "abort")).toEqual([]);
  });

  it("takes a provider that opens nothing for a timeout, and lets it go", async () => {
    const signals: AbortSignal[] = [];
    const provider: Provider = {
      name: "silent",
      stream: (_, { signal }) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    };
    const { run, clock } = setup(provider, { maxRetries: 1, openTimeoutMs: 3000 });
    const result = infer(run);
    await clock.advance(7000);
    expect((await result).turn).toMatchObject({ failure: { type: "timeout" } });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("a stream that opens while what says that it is late is loaded is read to its end", async () => {
    const loading = Promise.withResolvers<Awaited<ReturnType<typeof seldom.open>>>();
    const room = await seldom.open();
    vi.spyOn(seldom, "open").mockReturnValue(loading.promise);
    const { promise: opening, resolve } = Promise.withResolvers<AsyncIterable<StreamPart>>();
    let asked: AbortSignal | undefined;
    const late = async function* (): AsyncGenerator<StreamPart> {
      yield { type: "text-delta", delta: "late" };
      loading.resolve(room);
      await loading.promise;
      await new Promise(setImmediate);
      asked?.throwIfAborted();
      yield { type: "stop", reason: "end-turn" };
    };
    const provider: Provider = {
      name: "late",
      stream: (_, { signal }) => {
        asked = signal;
        return opening;
      },
    };
    const { run, clock } = setup(provider, { maxRetries: 0, maxStreamRetries: 0, openTimeoutMs: 3000 });
    const result = infer(run);
    await clock.advance(3000);
    resolve(late());
    expect((await result).turn).toMatchObject({ text: "late", stopReason: "end-turn" });
    expect(clock.pendingTimers).toBe(0);
  });

  it("inference 44: a provider that sends nothing at all is given up after the idle limit, whether it opens a stream or not", async () => {
    const asked: number[] = [];
    const silent = (kind: "closed" | "open" | "late", clock: FakeClock): Provider => ({
      name: kind,
      stream: (_, { signal }) => {
        asked.push(clock.now());
        const nothing: AsyncIterable<StreamPart> = {
          [Symbol.asyncIterator]: () => ({
            next: () => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
          }),
        };
        if (kind === "open") return nothing;
        return new Promise((resolve) => (kind === "late" ? clock.timer(4000, () => resolve(nothing)) : undefined));
      },
    });
    const giveUp = async (kind: "closed" | "open" | "late", changes: Partial<InferencePolicy>, model = "m") => {
      asked.length = 0;
      const clock = fakeClock();
      const { run } = setup(
        silent(kind, clock),
        { maxRetries: 1, maxStreamRetries: 1, backoffBaseMs: 0, streamIdleTimeoutMs: 5000, ...changes },
        clock,
      );
      const result = infer({ ...run, request: { ...request, model } });
      await clock.runAll();
      const { turn } = await result;
      expect(clock.pendingTimers).toBe(0);
      return { asked: [...asked], failure: turn.stopReason === "error" ? turn.failure.type : undefined };
    };
    expect(await giveUp("closed", {})).toEqual({ asked: [0, 5000], failure: "timeout" });
    expect(await giveUp("open", {})).toEqual({ asked: [0, 5200], failure: "stream-interrupted" });
    // The time that it took to open is silence too; the first look after 5000 that began at 4000.
    expect(await giveUp("late", {})).toEqual({ asked: [0, 4000 + 7 * (5000 / 32) + 200], failure: "stream-interrupted" });
    expect(await giveUp("closed", {}, "o3-mini")).toEqual({ asked: [0, 10_000], failure: "timeout" });
    expect(await giveUp("closed", { openTimeoutMs: 2000 })).toEqual({ asked: [0, 2000], failure: "timeout" });
    expect(await giveUp("closed", { openTimeoutMs: 0 })).toEqual({ asked: [0, 5000], failure: "timeout" });
    expect(await giveUp("closed", { streamIdleTimeoutMs: 0 })).toEqual({ asked: [0, 120_000], failure: "timeout" });
  });

  it("inference 45: a vendor that asks for a wait beyond the limit has failed, while it opens and in the middle of a stream", async () => {
    const HOURS = 7_200_000;
    const long = await play([failure("rate-limited", "come back tomorrow", HOURS)]);
    expect(long).toMatchObject({ calls: 1, waits: [], turn: { failure: { type: "rate-limited", retryAfterMs: HOURS } } });
    expect((await play([failure("overloaded", "full", 60_000), failure("unauthorized")])).waits).toEqual([60_000]);
    expect((await play([failure("overloaded", "full", 60_001)])).waits).toEqual([]);
    const limited = await play([failure("overloaded", "full", 2000), failure("overloaded", "full", 2001)], { maxRetryAfterMs: 2000 });
    expect(limited).toMatchObject({ calls: 2, waits: [2000], turn: { failure: { type: "overloaded" } } });

    const broken = { type: "throw", error: new InferenceError({ type: "rate-limited", message: "spent", retryAfterMs: HOURS }) } as const;
    const midway = await play([parts({ type: "text-delta", delta: "Hel" }, broken)]);
    expect(midway).toMatchObject({ calls: 1, waits: [], turn: { text: "Hel", failure: { type: "rate-limited", retryAfterMs: HOURS } } });
    // What came whole needs nobody.
    const call = [
      { type: "tool-call-start", id: "c", name: "add" },
      { type: "tool-call-delta", id: "c", delta: "{}" },
    ] as const;
    expect(await play([parts(...call, broken)])).toMatchObject({ calls: 1, waits: [], turn: { stopReason: "tool-use" } });
  });

  it("keeps one name for all attempts of one inference, and another for the next", async () => {
    const provider = scripted([failure("provider"), text("a"), text("b")]);
    const { run, clock } = setup(provider);
    const first = infer(run);
    await clock.runAll();
    await first;
    await infer({ ...run, request: { ...request, routing: { fallback: "f" } } });
    const [a, b, c] = provider.requests.map(({ routing }) => routing);
    expect(a?.inferenceId).toEqual(expect.any(String));
    expect(b).toEqual(a);
    expect(c).toMatchObject({ fallback: "f" });
    expect(c?.inferenceId).not.toBe(a?.inferenceId);
  });

  it("a failure is told as it came where the part that deals with it cannot be loaded, and nothing is left behind", async () => {
    vi.spyOn(seldom, "open").mockImplementation(() => Promise.reject(new Error("no such file")));
    for (const turns of [
      [failure("overloaded")],
      [parts({ type: "text-delta", delta: "half" }, { type: "throw", error: new Error("reset") })],
    ]) {
      const { run, clock, controller } = setup(scripted(turns));
      await expect(infer(run)).rejects.toThrow("no such file");
      expect(clock.pendingTimers).toBe(0);
      expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    }
  });
});
