import {
  InferenceError,
  type InferenceFailure,
  type InferenceFailureType,
  type InferenceRequest,
  type Provider,
  type StreamPart,
  threadId,
} from "@awaken/contract";
import { type PoolSpecInput, parsePoolSpec } from "@awaken/contract/spec";
import { describe, expect, it } from "vitest";
import { fakeClock } from "../../testing/fake-clock.ts";
import { type BreakerPolicy, CircuitBreaker } from "../circuit-breaker.ts";
import { createPool } from "./create-pool.ts";
import { PoolCache } from "./pool-cache.ts";

type Answer = "ok" | InferenceFailure | Promise<"ok" | InferenceFailure>;

/** A member that answers what it is told; the last answer stays. */
class FakeMember {
  readonly models: string[] = [];
  readonly reports: string[] = [];
  closed = 0;
  answers: Answer[] = ["ok"];
  readonly provider: Provider = {
    name: "fake",
    stream: (request, { signal }) => this.#stream(request, signal),
    observer: {
      drained: ({ model }) => this.reports.push(`drained ${model}`),
      failed: ({ model }, { type }) => this.reports.push(`failed ${model} ${type}`),
    },
  };

  get calls(): number {
    return this.models.length;
  }

  async #stream({ model }: InferenceRequest, signal: AbortSignal): Promise<AsyncIterable<StreamPart>> {
    const answer = this.answers.length > 1 ? this.answers.shift() : this.answers[0];
    this.models.push(model);
    const settled = await answer;
    if (signal.aborted) throw new InferenceError({ type: "cancelled", message: "cancelled" });
    if (settled !== "ok" && settled !== undefined) throw new InferenceError(settled);
    const iterator: AsyncIterator<StreamPart> = {
      next: async () => ({ done: true, value: undefined }),
      return: async () => {
        this.closed += 1;
        return { done: true, value: undefined };
      },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  }
}

const fails = (type: InferenceFailureType, retryAfterMs?: number): InferenceFailure => ({
  type,
  message: `scripted ${type}`,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

let threads = 0;

function setup(spec: Omit<PoolSpecInput, "id">, breakerPolicy: Partial<BreakerPolicy> = {}) {
  const clock = fakeClock();
  const parsed = parsePoolSpec("pool", spec);
  const fakes = parsed.members.map(() => new FakeMember());
  const breaker = new CircuitBreaker(breakerPolicy);
  const warnings: string[] = [];
  const members = parsed.members.map(({ model }, index) => ({
    model,
    upstream: `up-${model}`,
    provider: fakes[index]?.provider ?? new FakeMember().provider,
  }));
  const pool = createPool({ spec: parsed, members, breaker, clock, log: { warn: (text) => warnings.push(text), error: () => {} } });
  const calls = () => fakes.map((fake) => fake.calls);
  /** Opens a stream and gives the request back for reports about it. */
  const open = async (request: InferenceRequest = ask()) => {
    const stream = await pool.stream(request, { signal: new AbortController().signal });
    return { request, iterator: stream[Symbol.asyncIterator]() };
  };
  const succeed = async (thread: string) => {
    const { request } = await open(ask(thread));
    pool.observer?.drained(request);
  };
  const script = (index: number, ...answers: Answer[]) => {
    const fake = fakes[index];
    if (fake === undefined) throw new RangeError(`no member ${index}`);
    fake.answers = answers;
  };
  return { pool, fakes, breaker, clock, warnings, calls, open, succeed, script };
}

function ask(thread?: string, inferenceId?: string): InferenceRequest {
  threads += 1;
  const routing = { threadId: threadId(thread ?? `thread-${threads}`), ...(inferenceId === undefined ? {} : { inferenceId }) };
  return { model: "pool", system: "", messages: [], tools: [], promptCache: false, routing };
}

/** `a` is the home of every conversation, whatever happens to it. */
const homeIsA = (...others: string[]): Pick<PoolSpecInput, "members"> => ({
  members: [{ model: "a" }, ...others.map((model) => ({ model, role: "failover-only" as const }))],
});

const failureOf = (opening: Promise<unknown>): Promise<string> =>
  opening.then(
    () => "opened",
    (thrown) => (thrown instanceof InferenceError ? thrown.failure.type : String(thrown)),
  );

describe("a pool", () => {
  it("inference 32: serves a thread by one member and spreads threads by weight", async () => {
    const { open, fakes, calls } = setup({
      members: [{ model: "m1", weight: 3 }, { model: "m2" }, { model: "m3", role: "failover-only" }],
    });
    for (let count = 0; count < 20; count++) await open(ask("sticky"));
    expect(calls().filter((count) => count > 0)).toEqual([20]);
    for (let count = 0; count < 2000; count++) await open();
    const [first = 0, second = 0, third] = calls();
    expect(third).toBe(0);
    expect(first / (first + second)).toBeGreaterThan(0.7);
    expect(first / (first + second)).toBeLessThan(0.8);
    expect(fakes[0]?.models[0]).toBe("up-m1");
  });

  it("homes the same thread on the same member in every process", async () => {
    const serving = async () => {
      const { open, calls } = setup({ members: [{ model: "x" }, { model: "y" }, { model: "z" }] });
      const homes: number[] = [];
      for (let count = 0; count < 30; count++) {
        await open(ask(`t${count}`));
        homes.push(calls().reduce((sum, value, index) => sum + value * (index + 1), 0));
      }
      return homes;
    };
    expect(await serving()).toEqual(await serving());
  });

  it("homes in turn by weight, or on the first healthy member, when it is told to", async () => {
    const turns = setup({ members: [{ model: "a", weight: 2 }, { model: "b" }], routing: { home: "round-robin" } });
    for (let count = 0; count < 6; count++) await turns.open();
    expect(turns.calls()).toEqual([4, 2]);
    const first = setup({ members: [{ model: "a" }, { model: "b" }], routing: { home: "first-healthy" } }, { failureThreshold: 1 });
    for (let count = 0; count < 3; count++) await first.open();
    first.breaker.fail("a", 0);
    await first.open();
    expect(first.calls()).toEqual([3, 1]);
  });

  it("sticks by run when it is told to, else by what else is known", async () => {
    const spec = { members: [{ model: "a" }, { model: "b" }], routing: { home: "round-robin", stickyScope: "run" } } as const;
    const { open, calls, warnings } = setup(spec);
    const base = ask("t");
    const routed = (routing: InferenceRequest["routing"]): InferenceRequest => ({ ...base, ...(routing === undefined ? {} : { routing }) });
    await open(routed({ fallback: "f", inferenceId: "i" }));
    await open(routed({ fallback: "f", inferenceId: "j" }));
    expect(calls()).toEqual([2, 0]);
    await open(routed({ fallback: "  ", inferenceId: "i" }));
    await open(routed({ inferenceId: "i" }));
    expect(calls()).toEqual([2, 2]);
    expect(warnings).toEqual([]);
    await open(routed({}));
    expect(warnings).toHaveLength(1);
  });

  it("inference 33: moves to another member within the call when the quota is spent, and stays there", async () => {
    const { open, succeed, calls, script } = setup(homeIsA("b"));
    script(0, fails("rate-limited"), "ok");
    await succeed("t");
    await open(ask("t"));
    expect(calls()).toEqual([1, 2]);
    await open(ask("other"));
    expect(calls()).toEqual([2, 2]);
  });

  it("inference 33: waits for a quota that clears soon", async () => {
    const { open, calls, script } = setup({ ...homeIsA("b"), switch: { quotaRetryAfterThresholdSecs: 60 } });
    script(0, fails("rate-limited", 5000));
    expect(await failureOf(open())).toBe("rate-limited");
    expect(calls()).toEqual([1, 0]);
    script(0, fails("overloaded", 60_000));
    expect(await failureOf(open())).toBe("opened");
    script(0, fails("rate-limited"));
    expect(await failureOf(open())).toBe("opened");
    expect(calls()).toEqual([3, 2]);
  });

  it("inference 34: quarantines a member that does not let us in", async () => {
    const { open, calls, script } = setup(homeIsA("b"));
    script(0, fails("unauthorized"), "ok");
    await open();
    await open();
    expect(calls()).toEqual([1, 2]);
  });

  it("inference 34: returns the error instead when it is told to", async () => {
    const { open, calls, script } = setup({ ...homeIsA("b"), switch: { onPermanent: false } });
    script(0, fails("model-not-found"), "ok");
    expect(await failureOf(open())).toBe("model-not-found");
    await open();
    expect(calls()).toEqual([2, 0]);
  });

  const TRANSIENT = ["provider", "timeout", "stream-interrupted"] as const;
  const OF_THE_REQUEST = ["context-overflow", "invalid-request", "content-filtered"] as const;

  it.each(TRANSIENT)(
    "inference 35: returns a failure of type %s, and the next call goes to a peer once the breaker is open",
    async (type) => {
      for (const when of ["opening", "streaming"] as const) {
        const { pool, open, calls, script, breaker } = setup(homeIsA("b"), { failureThreshold: 2 });
        script(0, ...(when === "opening" ? [fails(type), fails(type)] : []), "ok");
        for (const expected of ["closed", "open"]) {
          const before = calls();
          if (when === "opening") expect(await failureOf(open(ask("t", "i")))).toBe(type);
          else {
            const { request } = await open(ask("t", "i"));
            pool.observer?.failed(request, fails(type));
            expect(pool.observer?.hasMoved?.(request)).toBe(false);
          }
          expect(calls()).toEqual([(before[0] ?? 0) + 1, 0]);
          expect(breaker.state("a")).toBe(expected);
        }
        await open(ask("t", "j"));
        expect(calls()).toEqual([2, 1]);
        // Other conversations of the member go there too.
        await open(ask("other"));
        expect(calls()).toEqual([2, 2]);
      }
    },
  );

  it.each(OF_THE_REQUEST)("inference 35: returns a failure of type %s, which no peer would spare and no breaker counts", async (type) => {
    const { pool, open, calls, script, breaker } = setup(homeIsA("b"), { failureThreshold: 1 });
    script(0, fails(type), "ok");
    expect(await failureOf(open(ask("t")))).toBe(type);
    const { request } = await open(ask("t"));
    pool.observer?.failed(request, fails(type));
    expect(breaker.state("a")).toBe("closed");
    await open(ask("t"));
    expect(calls()).toEqual([3, 0]);
  });

  it("inference 35: a caller that cancels moves nothing", async () => {
    const { open, calls, script, breaker } = setup(homeIsA("b"), { failureThreshold: 1 });
    script(0, fails("cancelled"), "ok");
    expect(await failureOf(open(ask("t")))).toBe("cancelled");
    await open(ask("t"));
    expect([calls(), breaker.state("a")]).toEqual([[2, 0], "closed"]);
  });

  it("stays with an open breaker when it is told to", async () => {
    const { open, calls, script } = setup({ ...homeIsA("b"), switch: { onCircuitOpen: false } }, { failureThreshold: 1 });
    script(0, fails("provider"));
    for (let count = 0; count < 3; count++) expect(await failureOf(open(ask("t")))).toBe("provider");
    expect(calls()).toEqual([3, 0]);
  });

  it("inference 36: asks each member once when all are over quota", async () => {
    const { fakes, open, calls } = setup(homeIsA("b", "c"));
    for (const fake of fakes) fake.answers = [fails("rate-limited")];
    expect(await failureOf(open())).toBe("pool-attempts-exhausted");
    expect(calls()).toEqual([1, 1, 1]);
  });

  it("inference 36: asks nobody when all breakers are open", async () => {
    const { breaker, open, calls } = setup(homeIsA("b"), { failureThreshold: 1 });
    breaker.fail("a", 0);
    breaker.fail("b", 0);
    expect(await failureOf(open())).toBe("all-models-unavailable");
    expect(calls()).toEqual([0, 0]);
  });

  it("returns the last error when those left are not healthy", async () => {
    const { breaker, open, script } = setup(homeIsA("b"), { failureThreshold: 1 });
    breaker.fail("b", 0);
    script(0, fails("overloaded"));
    expect(await failureOf(open())).toBe("overloaded");
  });

  it("inference 37: switches as often as it may, and again after a success", async () => {
    const { fakes, open, succeed, calls } = setup({ ...homeIsA("b", "c"), switch: { maxSwitchesPerSession: 1 } });
    for (const fake of fakes) fake.answers = [fails("rate-limited")];
    expect(await failureOf(open(ask("t")))).toBe("rate-limited");
    expect(calls().reduce((sum, count) => sum + count)).toBe(2);

    for (const fake of fakes) fake.answers = ["ok"];
    await succeed("t");
    const serving = fakes.find((fake) => fake.reports.length > 0);
    if (serving !== undefined) serving.answers = [fails("rate-limited")];
    expect(await failureOf(open(ask("t")))).toBe("opened");
  });

  it("says which model is down when it may not switch away from it", async () => {
    const { breaker, open } = setup({ ...homeIsA("b"), switch: { maxSwitchesPerSession: 0 } }, { failureThreshold: 1 });
    breaker.fail("a", 0);
    await expect(open()).rejects.toThrow(/model 'a'/);
  });

  it("switches once for two failures at the same time", async () => {
    const { open, calls, script } = setup({ ...homeIsA("b", "c"), switch: { maxSwitchesPerSession: 1 } });
    const both = Promise.withResolvers<InferenceFailure>();
    script(0, both.promise);
    const opening = [open(ask("t")), open(ask("t"))];
    both.resolve(fails("overloaded"));
    expect(await Promise.all(opening.map(failureOf))).toEqual(["opened", "opened"]);
    expect(calls().toSorted()).toEqual([0, 2, 2]);
  });

  it("inference 38: books a failure on the member that opened the stream, once, and ignores what it does not know", async () => {
    const { pool, fakes, open, breaker, script } = setup(homeIsA("b"));
    const { request: stale } = await open(ask("t", "i1"));
    script(0, fails("rate-limited"), "ok");
    await open(ask("t", "i2"));
    expect(breaker.failures("a")).toBe(1);

    pool.observer?.failed(stale, fails("provider"));
    pool.observer?.failed(stale, fails("provider"));
    pool.observer?.drained(stale);
    pool.observer?.failed(ask("t", "unknown"), fails("provider"));
    pool.observer?.failed(ask("nobody"), fails("provider"));
    expect(breaker.failures("a")).toBe(2);
    expect(breaker.failures("b")).toBe(0);
    expect(fakes[0]?.reports).toEqual(["failed up-a provider"]);
  });

  it("lets a report about an old stream not move the conversation", async () => {
    const { pool, open, calls } = setup(homeIsA("b"));
    const { request: old } = await open(ask("t", "i1"));
    await open(ask("t", "i1"));
    pool.observer?.failed(old, fails("rate-limited"));
    await open(ask("t", "i2"));
    expect(calls()).toEqual([3, 0]);
  });

  it("finds the stream of a request that something rewrote on the way", async () => {
    const { pool, open, breaker } = setup(homeIsA("b"));
    const { request } = await open(ask("t", "i1"));
    pool.observer?.failed({ ...request }, fails("provider"));
    expect(breaker.failures("a")).toBe(1);
  });

  it("moves on when the stream itself says that the quota is spent", async () => {
    const { pool, open, calls } = setup(homeIsA("b"));
    const { request } = await open(ask("t", "i1"));
    pool.observer?.failed(request, fails("overloaded"));
    await open(ask("t", "i2"));
    await open(ask("t", "i1"));
    expect(calls()).toEqual([1, 2]);
  });

  it("does not go back to a member whose breaker it left, even when that one would be admitted again", async () => {
    const { pool, open, breaker, clock, calls } = setup(homeIsA("b"), { failureThreshold: 1 });
    breaker.fail("a", 0);
    const { request } = await open(ask("t", "i1"));
    await clock.advance(30_000);
    pool.observer?.failed(request, fails("overloaded"));
    expect(await failureOf(open(ask("t", "i1")))).toBe("pool-attempts-exhausted");
    expect(calls()).toEqual([0, 1]);
  });

  it("stays for the recovery of a broken stream", async () => {
    const { pool, open, calls } = setup(homeIsA("b"));
    const { request } = await open(ask("t", "i1"));
    pool.observer?.failed(request, fails("stream-interrupted"));
    await open(ask("t", "i1"));
    expect(calls()).toEqual([2, 0]);
  });

  it("inference 39: visits no member again that one inference left", async () => {
    const { pool, open, calls } = setup(homeIsA("b"));
    for (let count = 0; count < 2; count++) {
      const { request } = await open(ask("t", "i1"));
      pool.observer?.failed(request, fails("rate-limited"));
    }
    expect(await failureOf(open(ask("t", "i1")))).toBe("pool-attempts-exhausted");
    expect(calls()).toEqual([1, 1]);
    expect(await failureOf(open(ask("t", "i2")))).toBe("opened");
  });

  it("inference 31: gives a half-open probe back when its stream is dropped", async () => {
    const { breaker, clock, open, pool, fakes, calls } = setup(homeIsA("b"));
    for (let count = 0; count < 5; count++) breaker.fail("a", 0);
    await clock.advance(30_000);
    const { iterator, request } = await open();
    expect(breaker.state("a")).toBe("half-open");
    await iterator.return?.();
    expect(fakes[0]?.closed).toBe(1);
    expect(breaker.state("a")).toBe("open");
    expect(breaker.failures("a")).toBe(5);

    pool.observer?.drained(request);
    expect(breaker.state("a")).toBe("open");
    const probe = await open();
    pool.observer?.drained(probe.request);
    expect(breaker.state("a")).toBe("closed");
    expect(calls()).toEqual([2, 0]);
  });

  it("inference 30: does not count permanent failures, and gives their probe back", async () => {
    const { breaker, clock, open, script } = setup({ ...homeIsA(), switch: { onPermanent: false } });
    script(0, fails("invalid-request"));
    for (let count = 0; count < 6; count++) expect(await failureOf(open())).toBe("invalid-request");
    expect(breaker.failures("a")).toBe(0);
    for (let count = 0; count < 5; count++) breaker.fail("a", clock.now());
    await clock.advance(30_000);
    expect(await failureOf(open())).toBe("invalid-request");
    expect(breaker.state("a")).toBe("open");
    expect(breaker.failures("a")).toBe(5);
  });

  it("gives a probe back when the caller gives up while it opens", async () => {
    const { breaker, clock, pool, script } = setup(homeIsA("b"));
    for (let count = 0; count < 5; count++) breaker.fail("a", 0);
    await clock.advance(30_000);
    const late = Promise.withResolvers<"ok">();
    script(0, late.promise);
    const controller = new AbortController();
    const opening = failureOf(Promise.resolve(pool.stream(ask(), { signal: controller.signal })));
    await clock.advance(1);
    controller.abort();
    expect(await opening).toBe("cancelled");
    expect(breaker.state("a")).toBe("open");
    expect(breaker.failures("a")).toBe(5);
  });

  it("inference 40: cannot be asked for another upstream model", () => {
    expect(setup(homeIsA("b")).pool.canOverrideModel).toBe(false);
  });
});

describe("PoolCache", () => {
  const spec = parsePoolSpec("pool", { members: [{ model: "a" }] });
  const log = { warn: () => {}, error: () => {} };
  const definition = (signature: string) => ({
    spec,
    members: [{ model: "a", upstream: "up-a", signature, provider: new FakeMember().provider }],
  });

  it("gives the same pool for the same definition (I13)", () => {
    const cache = new PoolCache({ clock: fakeClock(), log });
    expect(cache.get(definition("v1"))).toBe(cache.get(definition("v1")));
    expect(cache.get(definition("v2"))).not.toBe(cache.get(definition("v1")));
  });

  it("opens one pool for requests that come before it is there", async () => {
    const fakes = [new FakeMember(), new FakeMember()];
    const members = fakes.map(({ provider }, index) => ({
      model: `m${index}`,
      upstream: `up-${index}`,
      signature: "early",
      provider,
    }));
    const robin = parsePoolSpec("robin", { members: [{ model: "m0" }, { model: "m1" }], routing: { home: "round-robin" } });
    const pool = new PoolCache({ clock: fakeClock(), log }).get({ spec: robin, members });
    const { signal } = new AbortController();
    const [first, second] = [ask("early-1"), ask("early-2")];
    pool.observer?.failed(first, fails("provider"));
    await Promise.all([pool.stream(first, { signal }), pool.stream(second, { signal })]);
    expect(fakes.map(({ calls }) => calls)).toEqual([1, 1]);
    pool.observer?.drained(first);
    pool.observer?.failed(second, fails("overloaded"));
    expect(fakes.map(({ reports }) => reports)).toEqual([["drained up-0"], ["failed up-1 overloaded"]]);
  });

  it("shares breakers over the whole process", async () => {
    const own = definition("shared-breaker");
    const provider: Provider = {
      name: "down",
      stream: async () => {
        throw new InferenceError(fails("provider"));
      },
    };
    const failing = { ...own, members: own.members.map((member) => ({ ...member, provider })) };
    const first = new PoolCache({ clock: fakeClock(), log }).get(failing);
    const { signal } = new AbortController();
    for (let count = 0; count < 5; count++) await failureOf(Promise.resolve(first.stream(ask(), { signal })));
    const second = new PoolCache({ clock: fakeClock(), log }).get(own);
    expect(await failureOf(Promise.resolve(second.stream(ask(), { signal })))).toBe("all-models-unavailable");
  });
});
