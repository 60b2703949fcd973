import { AwakenError, threadId } from "@awaken/contract";
import type { Claim, QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import type { RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { open as openScripted } from "./open.test-support.ts";
import { AT_ONCE } from "./stores.test-support.ts";

// A claim is on record and its answer did not come: nobody executes what is claimed.

const T = threadId("t");
const LEASE_MS = 30_000;

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit>) =>
  openScripted(store, turns, { leaseMs: LEASE_MS, workers: false, ...init });

type Answer = (claim: Claim | undefined) => Promise<Claim | undefined>;

/** The same store, of which the answers to claims take another way. */
const answering = (store: QueueStore, answer: Answer): QueueStore => ({
  ...store,
  dispatches: { ...store.dispatches, claim: async (id, request) => answer(await store.dispatches.claim(id, request)) },
});

const broken = () => new AwakenError("storage_io", "the connection broke");

describe.each(AT_ONCE)("a claim whose answer was lost, on %s", (_, make) => {
  test("is given back as soon as the store answers, and costs no try", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    let lost = 0;
    const store = answering(inner, async (claim) => {
      if (claim === undefined || ++lost > 1) return claim;
      throw broken();
    });
    await using runtime = open(store, [text("here")], { workers: true, clock });
    const { runId } = await runtime.start({ thread: T, input: "x" });
    await expect.poll(() => lost).toBe(1);
    const ended = runtime.wait(runId);
    // The store is left alone for a second.
    await clock.advance(1_000);
    expect(await ended).toMatchObject({ status: "done", text: "here" });
    expect(await inner.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 0 }]);
    expect(clock.now()).toBeLessThan(10_000 + LEASE_MS);
  });

  test("is given back when nobody waits for it any more, and changes nothing when it comes after all", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    const answer = Promise.withResolvers<void>();
    const claims: (Claim | undefined)[] = [];
    const store = answering(inner, async (claim) => {
      if (claims.push(claim) === 1) await answer.promise;
      return claim;
    });
    await using runtime = open(store, [text("here")], { workers: true, clock, limits: { storeMs: 5_000 } });
    const { runId } = await runtime.start({ thread: T, input: "x" });
    await expect.poll(() => claims).toHaveLength(1);
    const ended = runtime.wait(runId);
    // An answer that is on its way is waited for.
    await clock.advance(4_999);
    expect(await inner.dispatches.list(T, {})).toMatchObject([{ status: "claimed", claimToken: claims[0]?.dispatch.claimToken }]);
    await clock.advance(1);
    await clock.advance(1_000);
    expect(await ended).toMatchObject({ status: "done", text: "here" });
    answer.resolve();
    await runtime.close();
    expect(await inner.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 0 }]);
  });

  test("and that came to be on record later than anybody looked, is given back when its answer comes after all", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    const onItsWay = Promise.withResolvers<void>();
    let [claims, first]: [number, Promise<Claim | undefined> | undefined] = [0, undefined];
    const claim: QueueStore["dispatches"]["claim"] = async (id, request) => {
      if (++claims > 1) {
        onItsWay.resolve();
        await first;
        return inner.dispatches.claim(id, request);
      }
      first = onItsWay.promise.then(() => inner.dispatches.claim(id, request));
      return first;
    };
    const store: QueueStore = { ...inner, dispatches: { ...inner.dispatches, claim } };
    await using runtime = open(store, [text("here")], { workers: true, clock, limits: { storeMs: 5_000 } });
    const { runId } = await runtime.start({ thread: T, input: "x" });
    await expect.poll(() => claims).toBe(1);
    const ended = runtime.wait(runId);
    for (let second = 0; second < 7; second++) await clock.advance(1_000);
    expect(await ended).toMatchObject({ status: "done", text: "here" });
    expect(await inner.dispatches.list(T, {})).toMatchObject([{ status: "acked", attemptCount: 0 }]);
  });

  test("is told apart from what a run of this process has begun on the thread meanwhile", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let own: Promise<unknown> | undefined;
    const store = answering(inner, async (claim) => {
      if (claim === undefined || own !== undefined) return claim;
      // Somebody has ended it by now, and here the thread is used.
      const { dispatchId, claimToken } = claim.dispatch;
      await inner.dispatches.ack({ dispatchId, claimToken });
      own = runtime.run({ thread: T, input: "y" });
      await began.promise;
      throw broken();
    });
    const turn: ScriptStep = () => {
      began.resolve();
      return { items: [{ type: "until", promise: end.promise }, ...text("own").items] };
    };
    await using runtime = open(store, [turn], { workers: true, clock });
    await runtime.start({ thread: T, input: "x" });
    await began.promise;
    for (let second = 0; second < 3; second++) await clock.advance(1_000);
    expect(await inner.dispatches.list(T, { statuses: ["claimed", "queued"] })).toMatchObject([{ status: "claimed", attemptCount: 0 }]);
    end.resolve();
    expect(await own).toMatchObject({ status: "done", text: "own" });
  });

  test("and that came to be on record later than anybody looked, is taken back when its lease ends", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    let late: (() => Promise<unknown>) | undefined;
    let claims = 0;
    const store: QueueStore = {
      ...inner,
      dispatches: {
        ...inner.dispatches,
        claim: async (id, request) => {
          if (++claims > 1) return inner.dispatches.claim(id, request);
          late = () => inner.dispatches.claim(id, request);
          throw broken();
        },
        list: async (id, query) => {
          const found = await inner.dispatches.list(id, query);
          if (query.statuses?.includes("claimed") !== true || query.statuses.length > 1) return found;
          const claim = late;
          late = undefined;
          await claim?.();
          return found;
        },
      },
    };
    await using runtime = open(store, [text("here")], { workers: true, clock });
    const { runId } = await runtime.start({ thread: T, input: "x" });
    await expect.poll(() => claims).toBe(1);
    await clock.advance(1_000);
    expect(await inner.dispatches.list(T, {})).toMatchObject([{ status: "claimed" }]);
    const ended = runtime.wait(runId);
    await clock.advance(LEASE_MS + 1_000);
    expect(await ended).toMatchObject({ status: "done", text: "here" });
  });

  test("on a thread that a newer program has taken since holds up no other thread", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    const newer = new AwakenError("storage_too_new", "a newer program wrote it");
    let claims = 0;
    const store: QueueStore = {
      ...inner,
      dispatches: {
        ...inner.dispatches,
        claim: async (id, request) => {
          if (id !== T) return inner.dispatches.claim(id, request);
          throw ++claims === 1 ? broken() : newer;
        },
        list: async (id, query) => {
          if (id === T && query.statuses?.includes("claimed")) throw newer;
          return inner.dispatches.list(id, query);
        },
      },
    };
    await using runtime = open(store, [text("here")], { workers: true, clock });
    await runtime.start({ thread: T, input: "x" });
    await expect.poll(() => claims).toBe(1);
    const { runId } = await runtime.start({ thread: "other", input: "y" });
    const ended = runtime.wait(runId);
    await clock.advance(1_000);
    expect(await ended).toMatchObject({ status: "done", text: "here" });
  });

  test("is given back when the process is closed before it looks again", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    let lost = 0;
    const store = answering(inner, async () => {
      lost += 1;
      throw broken();
    });
    const runtime = open(store, [], { workers: true, clock });
    await runtime.start({ thread: T, input: "x" });
    await expect.poll(() => lost).toBe(1);
    expect(await inner.dispatches.list(T, {})).toMatchObject([{ status: "claimed" }]);
    await runtime.close();
    expect(await inner.dispatches.list(T, {})).toMatchObject([{ status: "queued", attemptCount: 0 }]);
  });

  test("is asked for by one at a time, however long the store takes to say who has it: a claim that came later is not given back", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    const gate = Promise.withResolvers<void>();
    let [lost, looks] = [0, 0];
    const losing = answering(inner, async (claim) => {
      if (claim === undefined || ++lost > 1) return claim;
      throw broken();
    });
    const list: QueueStore["dispatches"]["list"] = async (id, query) => {
      const found = await inner.dispatches.list(id, query);
      if (query.statuses?.join() !== "claimed") return found;
      looks += 1;
      await gate.promise;
      return found;
    };
    const store: QueueStore = { ...losing, dispatches: { ...losing.dispatches, list } };
    await using runtime = open(store, [text("here")], { workers: true, clock });
    const { runId } = await runtime.start({ thread: T, input: "x" });
    await expect.poll(() => lost).toBe(1);
    for (let second = 0; second < 5; second++) await clock.advance(1_000);
    gate.resolve();
    const ended = runtime.wait(runId);
    await clock.advance(1_000);
    expect(await ended).toMatchObject({ status: "done", text: "here" });
    expect(looks).toBe(1);
  });

  test("is given back a second later where the store fails once more", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    let [lost, looks] = [0, 0];
    const losing = answering(inner, async (claim) => {
      if (claim === undefined || ++lost > 1) return claim;
      throw broken();
    });
    const list: QueueStore["dispatches"]["list"] = async (id, query) => {
      if (query.statuses?.join() === "claimed" && ++looks === 1) throw broken();
      return inner.dispatches.list(id, query);
    };
    await using runtime = open({ ...losing, dispatches: { ...losing.dispatches, list } }, [text("here")], { workers: true, clock });
    const { runId } = await runtime.start({ thread: T, input: "x" });
    await expect.poll(() => lost).toBe(1);
    await clock.advance(1_000);
    expect(looks).toBe(1);
    await clock.advance(1_000);
    expect(looks).toBe(2);
    expect(await runtime.wait(runId)).toMatchObject({ status: "done", text: "here" });
  });

  test("is forgotten when the thread is claimed after all: a worker whose run goes on looks at the queue no oftener than any", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let [claims, isDown, asked] = [0, false, 0];
    const store: QueueStore = {
      ...inner,
      queue: {
        ...inner.queue,
        nextDueInMs: () => {
          asked += 1;
          return inner.queue.nextDueInMs();
        },
      },
      dispatches: {
        ...inner.dispatches,
        claim: async (id, request) => {
          isDown = ++claims === 1;
          if (isDown) throw broken();
          return inner.dispatches.claim(id, request);
        },
        list: async (id, query) => {
          if (isDown && query.statuses?.join() === "claimed") throw broken();
          return inner.dispatches.list(id, query);
        },
      },
    };
    const turn: ScriptStep = () => {
      began.resolve();
      return { items: [{ type: "until", promise: end.promise }, ...text("here").items] };
    };
    await using runtime = open(store, [turn], { workers: true, clock });
    const { runId } = await runtime.start({ thread: T, input: "x" });
    await expect.poll(() => claims).toBe(1);
    const ended = runtime.wait(runId);
    await clock.advance(1_000);
    await began.promise;
    await clock.advance(1);
    asked = 0;
    for (let second = 0; second < 8; second++) await clock.advance(1_000);
    const askedMeanwhile = asked;
    end.resolve();
    expect(await ended).toMatchObject({ status: "done", text: "here" });
    expect(askedMeanwhile).toBeLessThan(3);
  });

  test("leaves the store alone for a second, however often somebody rings", async () => {
    const clock = fakeClock(10_000);
    await using inner = make(() => clock.now());
    let asked = 0;
    const listConsumers: QueueStore["queue"]["listConsumers"] = () => {
      // A worker that does not rest would never let this test go on.
      if (++asked > 100) return new Promise(() => {});
      return Promise.reject(broken());
    };
    await using runtime = open({ ...inner, queue: { ...inner.queue, listConsumers } }, [], { workers: true, clock });
    await expect.poll(() => asked).toBe(1);
    for (let n = 0; n < 3; n++) await runtime.start({ thread: T, input: "x" });
    await clock.advance(999);
    expect(asked).toBe(1);
    await clock.advance(1);
    expect(asked).toBe(2);
  });
});
