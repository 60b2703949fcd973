import { type AgentEvent, InferenceError, type InferenceRequest, type Provider, threadId } from "@awaken/contract";
import { type PoolSpecInput, parsePoolSpec } from "@awaken/contract/spec";
import { describe, expect, it } from "vitest";
import { countingIds, fakeClock } from "../../testing/fake-clock.ts";
import { cut, failure, parts, type ScriptedTurn, stall, text } from "../../testing/script.ts";
import { type ScriptedProvider, scripted } from "../../testing/scripted.ts";
import { CircuitBreaker } from "../circuit-breaker.ts";
import { DEFAULT_INFERENCE_POLICY, type InferencePolicy, infer } from "../infer.ts";
import { createPool } from "./create-pool.ts";

const request: InferenceRequest = {
  model: "pool",
  system: "",
  messages: [],
  tools: [],
  promptCache: false,
  routing: { threadId: threadId("t") },
};

interface Changes {
  readonly pool?: Partial<PoolSpecInput["switch"]>;
  readonly policy?: Partial<InferencePolicy>;
}

function setup(a: readonly ScriptedTurn[] | Provider, b: readonly ScriptedTurn[], { pool: change = {}, policy = {} }: Changes = {}) {
  const clock = fakeClock();
  const breaker = new CircuitBreaker();
  const models: ScriptedProvider[] = [scripted("name" in a ? [] : a, { clock }), scripted(b, { clock })];
  const providers = models.map((model, index) => (index === 0 && "name" in a ? a : model));
  const spec = parsePoolSpec("pool", { switch: change, members: [{ model: "a" }, { model: "b", role: "failover-only" }] });
  const members = providers.map((provider, index) => ({ model: ["a", "b"][index] ?? "", upstream: "m", provider }));
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
      policy: { ...DEFAULT_INFERENCE_POLICY, ...policy },
    });
    await clock.runAll();
    return (await inferred).turn;
  };
  return { ask, breaker, clock, events, calls: () => models.map(({ requests }) => requests.length) };
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

  it("inference 45: a wait beyond the limit is none that a pool stays for, and the next member need not wait for it", async () => {
    const HOURS = 7_200_000;
    const spent = new InferenceError({ type: "rate-limited", message: "spent", retryAfterMs: HOURS });
    const midway = parts({ type: "text-delta", delta: "Hel" }, { type: "throw", error: spent });
    for (const pool of [{}, { quotaRetryAfterThresholdSecs: 2 * HOURS }]) {
      const opening = setup([failure("rate-limited", "spent", HOURS)], [text("other")], { pool });
      expect((await opening.ask()).text).toBe("other");
      expect([opening.calls(), opening.clock.now()]).toEqual([[1, 1], 0]);

      const streaming = setup([midway], [text("lo")], { pool });
      expect((await streaming.ask()).text).toBe("Hello");
      expect([streaming.calls(), streaming.clock.now()]).toEqual([[1, 1], 0]);
    }
    const nobody = setup([midway], [failure("rate-limited", "spent too", HOURS)]);
    expect(await nobody.ask()).toMatchObject({ text: "Hel", failure: { type: "pool-attempts-exhausted" } });
    expect(nobody.clock.now()).toBe(0);

    const patient = setup([failure("rate-limited", "soon", 90_000), text("same")], [], {
      pool: { quotaRetryAfterThresholdSecs: 120 },
      policy: { maxRetryAfterMs: 100_000 },
    });
    expect((await patient.ask()).text).toBe("same");
    expect([patient.calls(), patient.clock.now()]).toEqual([[2, 0], 90_000]);
    // Told not to leave for a quota, it does not; and nobody waits.
    const loyal = setup([midway], [], { pool: { onQuota: false } });
    expect(await loyal.ask()).toMatchObject({ text: "Hel", failure: { type: "rate-limited" } });
    expect(loyal.clock.now()).toBe(0);
  });

  it("inference 44: books a member that opens nothing in time as failed, and leaves it once its circuit is open", async () => {
    let asked = 0;
    const silent: Provider = {
      name: "silent",
      stream: () => {
        asked += 1;
        return new Promise(() => {});
      },
    };
    const { ask, breaker, calls } = setup(silent, [text("other")], { policy: { maxRetries: 5, streamIdleTimeoutMs: 1000 } });
    expect((await ask()).text).toBe("other");
    expect(breaker.state("a")).toBe("open");
    expect([asked, calls()]).toEqual([5, [0, 1]]);
  });

  it("fails fast when every member is over quota", async () => {
    const { ask, calls } = setup([failure("rate-limited")], [failure("rate-limited")]);
    const turn = await ask();
    expect(turn).toMatchObject({ failure: { type: "pool-attempts-exhausted", message: "pool attempts exhausted" } });
    expect(calls()).toEqual([1, 1]);
  });
});
