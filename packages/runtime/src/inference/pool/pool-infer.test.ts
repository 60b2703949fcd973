import { type AgentEvent, type InferenceRequest, type Provider, parsePoolSpec, threadId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { countingIds, fakeClock } from "../../testing/fake-clock.ts";
import { cut, failure, parts, type ScriptedTurn, stall, text } from "../../testing/script.ts";
import { type ScriptedProvider, scripted } from "../../testing/scripted.ts";
import { CircuitBreaker } from "../circuit-breaker.ts";
import { DEFAULT_INFERENCE_POLICY, infer } from "../infer.ts";
import { createPool } from "./create-pool.ts";

const request: InferenceRequest = {
  model: "pool",
  system: "",
  messages: [],
  tools: [],
  promptCache: false,
  routing: { threadId: threadId("t") },
};

function setup(a: readonly ScriptedTurn[], b: readonly ScriptedTurn[]) {
  const clock = fakeClock();
  const breaker = new CircuitBreaker();
  const providers: [ScriptedProvider, ScriptedProvider] = [scripted(a, { clock }), scripted(b, { clock })];
  const spec = parsePoolSpec("pool", { members: [{ model: "a" }, { model: "b", role: "failover-only" }] });
  const members = providers.map((provider, index) => ({ model: ["a", "b"][index] ?? "", upstreamModel: "m", provider }));
  const log = { warn: () => {}, error: () => {} };
  const pool: Provider = createPool({ spec, members, breaker, clock, log });
  const events: AgentEvent[] = [];
  const ask = async (signal = new AbortController().signal) => {
    const inferred = infer({
      provider: pool,
      request,
      signal,
      clock,
      ids: countingIds(),
      log,
      emit: (event) => events.push(event),
      policy: DEFAULT_INFERENCE_POLICY,
    });
    await clock.runAll();
    return (await inferred).turn;
  };
  return { ask, breaker, clock, events, calls: () => providers.map(({ requests }) => requests.length) };
}

describe("an inference over a pool", () => {
  it("goes on with another vendor when the first dies in the middle of a stream, and stays there", async () => {
    const dead = Array.from({ length: 4 }, () => failure("provider", "connect ECONNREFUSED"));
    const { ask, breaker, calls } = setup([text("one"), cut(text("tw"), 1), ...dead], [text("o"), text("three")]);
    expect((await ask()).text).toBe("one");
    expect((await ask()).text).toBe("two");
    expect(breaker.state("a")).toBe("open");
    expect((await ask()).text).toBe("three");
    expect(calls()).toEqual([6, 2]);
  });

  it("moves at once when the stream says that the vendor is overloaded", async () => {
    const overloaded = { type: "throw", error: { error: { type: "overloaded_error", message: "Overloaded" } } } as const;
    const { ask, calls } = setup([parts({ type: "text-delta", delta: "Hel" }, overloaded)], [text("lo"), text("again")]);
    expect((await ask()).text).toBe("Hello");
    expect((await ask()).text).toBe("again");
    expect(calls()).toEqual([1, 2]);
  });

  it("inference 23: books a stall on the member, and nothing for an abort", async () => {
    const { ask, breaker, clock } = setup([stall(text("a"), 1), text("b"), stall(text("c"), 1)], []);
    expect((await ask()).text).toBe("ab");
    expect(breaker.failures("a")).toBe(0);
    for (let count = 0; count < 4; count++) breaker.fail("a", clock.now());
    const controller = new AbortController();
    setImmediate(() => controller.abort());
    expect((await ask(controller.signal)).stopReason).toBe("end-turn");
    expect(breaker.failures("a")).toBe(4);
    expect(clock.pendingTimers).toBe(0);
  });

  it("fails fast when every member is over quota", async () => {
    const { ask, calls } = setup([failure("rate-limited")], [failure("rate-limited")]);
    const turn = await ask();
    expect(turn).toMatchObject({ failure: { type: "pool-attempts-exhausted", message: "pool attempts exhausted" } });
    expect(calls()).toEqual([1, 1]);
  });
});
