import { DatabaseSync } from "node:sqlite";
import type { QueueStore } from "@awaken/contract/store";
import { type FakeClock, fakeClock } from "@awaken/runtime/testing";
import pg from "pg";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { ENGINES, type Engine, openShared, stopServer } from "./support/nodes.ts";
import { Reader } from "./support/reader.ts";
import { openNode } from "./support/speaker.ts";

afterAll(stopServer);
afterEach(() => vi.restoreAllMocks());

const HOUR_MS = 3_600_000;
const ask = { agent: "assistant", thread: "t" } as const;

/** Counts what reaches the engine. On SQLite a look at the count of writes is all that a process may do to hear of others. */
function countStatements(engine: Engine, store: QueueStore): () => number {
  let count = 0;
  const counted = (target: object, name: string): void => {
    const method: unknown = Reflect.get(target, name);
    if (typeof method !== "function") return;
    const call = (...given: unknown[]): unknown => {
      count += 1;
      return Reflect.apply(method, target, given);
    };
    Reflect.set(target, name, call);
  };
  if (engine === "memory") {
    for (const port of [store.events, store.runs, store.messages, store.threads]) for (const name of Object.keys(port)) counted(port, name);
  } else if (engine === "sqlite") {
    const prepare = DatabaseSync.prototype.prepare;
    vi.spyOn(DatabaseSync.prototype, "prepare").mockImplementation(function (this: DatabaseSync, text: string) {
      const statement = prepare.call(this, text);
      if (!text.includes("data_version")) for (const name of ["get", "all", "run"]) counted(statement, name);
      return statement;
    });
  } else {
    const query = pg.Client.prototype.query;
    vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (this: pg.Client, ...given: unknown[]) {
      count += 1;
      return Reflect.apply(query, this, given);
    });
  }
  return () => count;
}

describe.each(ENGINES)("on %s", (engine) => {
  test("followers of threads where nothing is under way do no work, however long they wait", async () => {
    // Before the first statement is made.
    await using shared = await openShared(engine);
    const statements = countStatements(engine, shared.stores[1]);
    const clock = fakeClock(Date.now());
    await using worker = openNode(shared.stores[0]);
    // Workers look for what was left behind; this node only follows.
    // What it asks for just then is answered by another clock.
    await using idle = openNode(shared.stores[1], { clock, workers: false, limits: { storeMs: 1_000 * HOUR_MS } });
    await worker.run({ ...ask, input: "say" });
    await worker.run({ ...ask, thread: "waiting", input: "approve say" });
    const caughtUp: Promise<void>[] = [];
    const followers = ["t", "t", "waiting"].map((id) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      caughtUp.push(promise);
      return new Reader(idle.attach(id, { onCaughtUp: resolve }));
    });
    for (const follower of followers) await follower.until(({ type }) => type === "run-end");
    await Promise.all(caughtUp);
    expect(statements()).toBeGreaterThan(0);
    const inAnHour = async () => {
      const before = statements();
      await clock.advance(HOUR_MS);
      // Whoever was woken by this clock has asked by now: statements are counted when they are asked for.
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      return statements() - before;
    };
    // Word of what was written before they came may be late, and lets them look once more; who works by this clock does so every hour.
    await expect.poll(async () => [await inAnHour(), await inAnHour(), clock.pendingTimers]).toEqual([0, 0, 0]);
    // They are awake as soon as something happens.
    const [first] = followers;
    await worker.run({ ...ask, input: "say" });
    await first?.until((event) => event.type === "run-end" && event !== first.events.find(({ type }) => type === "run-end"));
    for (const follower of followers) await follower.leave();
  });

  test("a node whose workers have nothing to do asks once in 30 s, and nothing between", async () => {
    await using shared = await openShared(engine);
    const statements = countStatements(engine, shared.stores[1]);
    const clock = fakeClock(Date.now());
    let sleeps = 0;
    const idleTimer: FakeClock["timer"] = (ms, fire) => {
      sleeps += 1;
      return clock.timer(ms, fire);
    };
    await using talker = openNode(shared.stores[0], { workers: false });
    await using worker = openNode(shared.stores[1], { clock: { ...clock, idleTimer }, limits: { storeMs: 1_000 * HOUR_MS } });
    // Runs that wait for somebody are no work either.
    for (const thread of ["a", "b", "c"]) await worker.wait((await talker.start({ ...ask, thread, input: "approve say" })).runId);
    const asleep = async (before: number) => {
      await expect.poll(() => sleeps).toBeGreaterThan(before);
      // What a sweep asks beside has been asked by then: one statement after the other, and on a busy machine an answer takes a while.
      for (let [last, quiet] = [-1, 0]; quiet < 15; quiet = last === statements() ? quiet + 1 : 0) {
        last = statements();
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    // Time passes when it sleeps: one that was still at work would sleep from a later time on.
    await asleep(0);
    const asked: number[] = [];
    for (let look = 0; look < 12; look++) {
      const [before, since] = [sleeps, statements()];
      await clock.advance(29_000);
      if (look > 1) expect(statements() - since).toBe(0);
      await clock.advance(1_000);
      await asleep(before);
      asked.push(statements() - since);
    }
    // Who holds claims, what is due, when the next is due.
    expect(Math.max(...asked.slice(2))).toBeLessThanOrEqual(3);
  });

  test("wait is woken when a run of another node is over: nobody asks again and again", async () => {
    await using shared = await openShared(engine);
    const clock = fakeClock(Date.now());
    await using worker = openNode(shared.stores[0]);
    await using idle = openNode(shared.stores[1], { clock });
    const run = worker.stream({ ...ask, input: "effect look say" });
    await new Reader(run).until(({ type }) => type === "step-start");
    // This clock stands still: only somebody who is woken looks again.
    const [result] = await Promise.all([idle.wait(run.id), run.result]);
    expect(result).toMatchObject({ status: "done", text: "one two three äöü 😀 five." });
    // What the store was just asked for has a timer, too.
    await expect.poll(() => clock.pendingTimers).toBe(0);
  });
});
