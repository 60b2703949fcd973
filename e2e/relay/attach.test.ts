import { scopeId, threadId, toolCallId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { createRuntime, defineTool, type Runtime } from "@awaken/runtime";
import { fakeClock, parts, type ScriptedTurn, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { ENGINES, openShared, stopServer } from "./support/nodes.ts";
import { factsOf, Reader, readAll, wordsOf } from "./support/reader.ts";
import { openNode, quiet, speaker } from "./support/speaker.ts";

afterAll(stopServer);

const ask = { agent: "assistant", thread: "t" } as const;
const failing = (code: string) => expect.objectContaining({ code });

/** A turn that says one half, and the other when it is told to. */
function halves(first = "The first half, "): { readonly turn: ScriptedTurn; readonly goOn: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const half = (delta: string) => ({ type: "text-delta", delta }) as const;
  return {
    turn: parts(half(first), { type: "until", promise }, half("and the second."), { type: "stop", reason: "end-turn" }),
    goOn: () => resolve(),
  };
}

const saying = (store: QueueStore, turn: ScriptedTurn): Runtime =>
  openNode(store, { providers: { house: speaker(() => turn) }, workers: false });

describe.each(ENGINES)("attach on %s", (engine) => {
  test("server-and-durability 61: whoever comes back with a cursor gets exactly what was missed, then what happens", async () => {
    await using shared = await openShared(engine);
    await using here = openNode(shared.stores[0]);
    await using there = openNode(shared.stores[1]);
    await here.run({ ...ask, input: "look effect say" });
    const all = await readAll(there, "t");
    const places = all.flatMap(({ cursor }, index) => (cursor === undefined ? [] : [index]));
    // The start of the run, each of its commits, and its end.
    expect(places.length).toBeGreaterThanOrEqual(4);
    expect(places.at(-1)).toBe(all.length - 1);
    for (const place of places) {
      const rest = await readAll(there, "t", all[place]?.cursor);
      expect(factsOf(rest)).toEqual(factsOf(all.slice(place + 1)));
    }
    const follower = new Reader(there.attach("t", { after: all.at(-1)?.cursor ?? "" }));
    await here.run({ ...ask, input: "say" });
    await follower.until(({ type }) => type === "run-end");
    const [first] = await follower.leave();
    expect(first).toMatchObject({ type: "run-start", resumed: false });
  });

  test("whoever asks for many events at once gets each of them once, in order", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const { runId } = await runtime.run({ ...ask, input: "look effect say" });
    const all = await readAll(runtime, runId);
    const events = runtime.attach(runId)[Symbol.asyncIterator]();
    const asked = await Promise.all(Array.from({ length: all.length + 2 }, () => events.next()));
    expect(asked.flatMap(({ done, value }) => (done ? [] : [value]))).toEqual(all);
    expect(asked.slice(all.length)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });

  test("what is said in one tick is told in one piece, and what comes later on its own", async () => {
    await using shared = await openShared(engine);
    const { promise, resolve: goOn } = Promise.withResolvers<void>();
    const words = ["one ", "two ", "three ", "four ", "five ", "six "].map((delta) => ({ type: "text-delta", delta }) as const);
    const turn = parts(...words, { type: "until", promise }, ...words, { type: "stop", reason: "end-turn" });
    await using runtime = saying(shared.stores[0], turn);
    const run = runtime.stream({ ...ask, input: "go" });
    const follower = new Reader(runtime.attach(run.id));
    await follower.until(({ type }) => type === "text-delta");
    goOn();
    await follower.ended;
    const said = words.map(({ delta }) => delta).join("");
    expect(follower.events.flatMap((event) => (event.type === "text-delta" ? [event.delta] : []))).toEqual([said, said]);
  });

  test("server-and-durability 59: what is not on record carries no cursor, and each commit ends with one", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const { runId } = await runtime.run({ ...ask, input: "effect say" });
    const follower = new Reader(runtime.attach(runId));
    await follower.ended;
    const withCursor = follower.events.filter(({ cursor }) => cursor !== undefined).map(({ type }) => type);
    expect(withCursor).toEqual(["input-accepted", "inference-end", "step-end", "run-end"]);
    expect(follower.events.filter(({ type }) => type.endsWith("-delta")).every(({ cursor }) => cursor === undefined)).toBe(true);
  });

  test("server-and-durability 57: unknown, blank and foreign cursors and ids are refused with their codes", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    const other = runtime.scoped("other");
    for (const node of [runtime, other]) for (const thread of ["t", "t2"]) await node.run({ ...ask, thread, input: "say" });
    const { runId } = await runtime.run({ ...ask, thread: "t3", input: "say" });
    const cursorOf = async (node: Pick<Runtime, "attach">, id: string) => (await readAll(node, id)).at(-1)?.cursor ?? "";
    const attached = (node: Pick<Runtime, "attach">, id: string, after?: string) =>
      new Reader(node.attach(id, after === undefined ? {} : { after })).ended;
    await expect(attached(runtime, "t", await cursorOf(runtime, "t2"))).rejects.toEqual(failing("cursor_expired"));
    await expect(attached(runtime, "t", await cursorOf(other, "t"))).rejects.toEqual(failing("cursor_expired"));
    await expect(attached(runtime, runId, await cursorOf(runtime, "t3"))).rejects.toEqual(failing("cursor_expired"));
    await expect(attached(runtime, "t", "nonsense")).rejects.toEqual(failing("cursor_expired"));
    await expect(attached(runtime, "t", "t1.x~1.5")).rejects.toEqual(failing("cursor_expired"));
    const last = await cursorOf(runtime, "t");
    for (const past of [last.replace(/\d+/, (seq) => `${Number(seq) + 1}`), `t${"9".repeat(40)}.x`, "t-1.x", "t1.x".repeat(5_000)]) {
      await expect(attached(runtime, "t", past)).rejects.toEqual(failing("cursor_expired"));
    }
    for (const blank of ["", " ", "~1.2"]) await expect(attached(runtime, "t", blank)).rejects.toEqual(failing("invalid_id"));
    for (const id of ["nobody", " "]) await expect(attached(runtime, id)).rejects.toEqual(failing("run_not_found"));
    await expect(attached(other, runId)).rejects.toEqual(failing("run_not_found"));
    // @ts-expect-error: plain JavaScript may give anything.
    await expect(new Reader(runtime.attach("t", { after: 7 })).ended).rejects.toEqual(failing("invalid_activation"));
    // @ts-expect-error: plain JavaScript may give anything.
    await expect(new Reader(runtime.attach(7)).ended).rejects.toEqual(failing("invalid_id"));
  });

  test("a ticket that opens while somebody attaches is told once, when it is on record", async () => {
    await using shared = await openShared(engine);
    const [store] = shared.stores;
    const { promise, resolve: goOn } = Promise.withResolvers<void>();
    const id = toolCallId("p");
    const turn = parts(
      { type: "until", promise },
      { type: "tool-call-start", id, name: "approve" },
      { type: "tool-call-delta", id, delta: '{"n":4}' },
      { type: "stop", reason: "tool-use" },
    );
    await using owner = saying(shared.stores[1], turn);
    const run = owner.stream({ ...ask, input: "go" });
    await new Reader(run).until(({ type }) => type === "step-start");
    let isFirst = true;
    // The run comes to wait when the log was read, and before anything else is.
    const list: QueueStore["events"]["list"] = async (...given) => {
      const page = await store.events.list(...given);
      if (!isFirst) return page;
      isFirst = false;
      goOn();
      expect(await run.result).toMatchObject({ status: "waiting" });
      return page;
    };
    await using late = openNode({ ...store, events: { ...store.events, list } }, { workers: false });
    const follower = new Reader(late.attach("t"));
    await follower.until((event) => event.type === "run-end");
    const events = await follower.leave();
    expect(events.filter(({ type }) => type === "ticket-open")).toHaveLength(1);
    expect(factsOf(events)).toEqual(factsOf(await readAll(owner, "t")));
  });

  test("a run that comes to its end while it is looked up is found", async () => {
    await using shared = await openShared(engine);
    const [store] = shared.stores;
    const [asked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // Its record is asked for before there is one, and its thread is read when the run is over and gone from here.
    const slow: QueueStore = {
      ...store,
      commit: async (given) => {
        if (given.isNewRun === true) await asked.promise;
        return store.commit(given);
      },
      runs: { ...store.runs, load: (id) => store.runs.load(id).finally(asked.resolve) },
      threads: {
        ...store.threads,
        load: async (id) => {
          await over.promise;
          return store.threads.load(id);
        },
      },
    };
    await using here = openNode(slow, { workers: false });
    const run = here.stream({ ...ask, input: "say" });
    const follower = new Reader(here.attach(run.id));
    expect(await run.result).toMatchObject({ status: "done" });
    over.resolve();
    await follower.ended;
    expect(follower.events.map(({ type }) => type)).toEqual(expect.arrayContaining(["run-start", "text-delta", "run-end"]));
  });

  test("server-and-durability 63: a cursor of events that were swept is refused, and open tickets are seen all the same", async () => {
    const clock = fakeClock(1_700_000_000_000);
    await using shared = await openShared(engine, { clock: () => clock.now() });
    await using runtime = openNode(shared.stores[0]);
    const { runId } = await runtime.run({ ...ask, input: "approve say" });
    const before = await readAll(runtime, "t");
    const told = before.filter(({ type }) => type === "ticket-open");
    expect(told).toHaveLength(1);
    await clock.advance(1_000);
    await shared.stores[0].sweep({ eventsMs: 10 });
    await expect(new Reader(runtime.attach("t", { after: before[3]?.cursor ?? before.at(-1)?.cursor ?? "" })).ended).rejects.toEqual(
      failing("cursor_expired"),
    );
    for (const id of ["t", runId]) expect(factsOf(await readAll(runtime, id))).toEqual(factsOf(told));
  });

  test("whoever joins in the middle of a step gets the step so far, here and on another node; who comes back gets it anew under the same id", async () => {
    await using shared = await openShared(engine);
    const { turn, goOn } = halves();
    await using here = saying(shared.stores[0], turn);
    await using there = openNode(shared.stores[1]);
    const run = here.stream({ ...ask, input: "go" });
    const live = new Reader(run);
    await live.until(({ type }) => type === "text-delta");
    for (const node of [here, there]) {
      const [first, again] = [new Reader(node.attach("t")), new Reader(node.attach(run.id))];
      for (const joined of [first, again]) {
        await joined.until(({ type }) => type === "text-delta");
        expect((await joined.leave()).map(({ type }) => type)).toEqual(["run-start", "input-accepted", "step-start", "text-delta"]);
        expect(joined.events.at(-1)).toEqual({ type: "text-delta", delta: "The first half, " });
      }
      const back = new Reader(node.attach("t", { after: first.cursor ?? "" }));
      await back.until(({ type }) => type === "text-delta");
      expect(back.events[0]).toEqual(first.events[2]);
      await back.leave();
    }
    const followers = [here, there].map((node) => new Reader(node.attach("t")));
    for (const follower of followers) await follower.until(({ type }) => type === "text-delta");
    goOn();
    await run.result;
    for (const follower of followers) {
      await follower.until(({ type }) => type === "run-end");
      const events = await follower.leave();
      expect([...wordsOf(events).values()]).toEqual(["The first half, and the second."]);
      expect(events.filter(({ type }) => type === "stream-reset" || type === "step-start")).toHaveLength(1);
    }
  });

  test("how far a call is was said once: whoever attaches later knows it, here and on another node", async () => {
    await using shared = await openShared(engine);
    const end = Promise.withResolvers<void>();
    const paint = defineTool({
      id: "paint",
      description: "Paints",
      input: z.object({}),
      idempotent: true,
      async execute(_, { progress }) {
        progress({ progress: 0.1, message: "begun" });
        progress({ progress: 0.5, message: "half of it" });
        await end.promise;
        return "painted";
      },
    });
    const init = {
      tools: [paint],
      agents: { assistant: { model: "fast", tools: ["paint"] } },
      providers: { house: speaker(({ messages }) => (messages.at(-1)?.role === "tool" ? text("There.") : toolCall("paint", {}))) },
    };
    await using here = openNode(shared.stores[0], { ...init, workers: false });
    await using there = openNode(shared.stores[1], { ...init, workers: false });
    const run = here.stream({ ...ask, input: "go" });
    await new Reader(run).until(({ type }) => type === "activity-snapshot");
    for (const node of [here, there, there]) {
      const joined = new Reader(node.attach("t"));
      await joined.until(({ type }) => type === "activity-snapshot");
      const told = (await joined.leave()).filter(({ type }) => type === "activity-snapshot");
      expect(told).toEqual([
        expect.objectContaining({ content: expect.objectContaining({ progress: 0.5, message: "half of it", toolName: "paint" }) }),
      ]);
    }
    end.resolve();
    expect(await run.result).toMatchObject({ status: "done", text: "There." });
  });

  test("server-and-durability 60: a reader that leaves does not cancel the run, and one that stops reading does not stall it", async () => {
    await using shared = await openShared(engine);
    const words = Array.from({ length: 5_000 }, (_, index) => `${index} `);
    await using runtime = openNode(shared.stores[0], { providers: { house: speaker(() => text(...words)) } });
    await runtime.run({ ...ask, input: "warm up" });
    const cursor = (await readAll(runtime, "t")).at(-1)?.cursor ?? "";
    const slow = runtime.attach("t", { after: cursor })[Symbol.asyncIterator]();
    const gone = runtime.attach("t", { after: cursor })[Symbol.asyncIterator]();
    const [first, left] = [slow.next(), gone.next()];
    const result = runtime.run({ ...ask, input: "go" });
    await left;
    await gone.return?.();
    expect((await first).value).toMatchObject({ type: "run-start" });
    // Nobody has read anything else of it.
    expect((await result).status).toBe("done");
    const rest = [];
    for (let next = await slow.next(); !next.done; next = await slow.next()) {
      rest.push(next.value);
      if (next.value.type === "run-end") break;
    }
    await slow.return?.();
    expect([...wordsOf(rest).values()]).toEqual([words.join("")]);
    // What came while it did not read came together.
    expect(rest.length).toBeLessThan(100);
  });

  test("a takeover voids what was shown of the step, once, and the step starts over: what the old owner still says is not heard", async () => {
    const clock = fakeClock(1_700_000_000_000);
    await using shared = await openShared(engine, { clock: () => clock.now() });
    const { turn, goOn } = halves();
    const lost = saying(shared.stores[0], turn);
    const run = lost.stream({ ...ask, input: "say" });
    await using third = openNode(shared.stores[1], { workers: false });
    const followers = [new Reader(lost.attach("t"))];
    await followers[0]?.until(({ type }) => type === "text-delta");
    followers.push(new Reader(third.attach("t")));
    if (engine !== "sqlite") await followers[1]?.until(({ type }) => type === "text-delta");
    // Its lease is over, and it has not heard of it. Whoever takes over stands still in the middle of the step.
    const later = halves("Another half, ");
    await using next = saying(shared.stores[1], later.turn);
    await clock.advance(60_000);
    await shared.stores[1].queue.reclaimExpired();
    const { promise: rest, resolve: end } = Promise.withResolvers<unknown>();
    next.resume(run.id).then(end, end);
    for (const follower of followers) await follower.until((event) => event.type === "run-start" && event.resumed);
    // Whoever comes now hears of both.
    const newcomers = [new Reader(lost.attach("t")), new Reader(third.attach("t"))];
    for (const newcomer of newcomers) await newcomer.until((event) => event.type === "run-start" && event.resumed);
    await clock.advance(20_000);
    goOn();
    await run.result;
    later.goOn();
    expect(await rest).toMatchObject({ status: "done" });
    for (const follower of [...followers, ...newcomers]) {
      await follower.until(({ type }) => type === "run-end");
      const events = await follower.leave();
      const isFirst = follower === followers[0];
      const types = events.map(({ type }) => type);
      if (isFirst) {
        expect(types.slice(0, 6)).toEqual(["run-start", "input-accepted", "step-start", "text-delta", "stream-reset", "run-start"]);
      }
      const resumed = events.findIndex((event) => event.type === "run-start" && event.resumed);
      expect(types.slice(resumed).filter((type) => type === "stream-reset" || type === "step-start")).toEqual(["step-start"]);
      expect([...wordsOf(events).values()].at(-1)).toBe("Another half, and the second.");
    }
    await lost.close();
  });

  test("followers of threads end with their signal and with the runtime, those of a run with the run", async () => {
    await using shared = await openShared(engine);
    const runtime = openNode(shared.stores[0]);
    const { runId } = await runtime.run({ ...ask, input: "say" });
    const leave = new AbortController();
    const byRun = new Reader(runtime.attach(runId));
    await byRun.ended;
    const afterEnd = new Reader(runtime.attach(runId, { after: byRun.cursor ?? "" }));
    await afterEnd.ended;
    expect(afterEnd.events).toEqual([]);
    const [bySignal, byClose] = [new Reader(runtime.attach("t", { signal: leave.signal })), new Reader(runtime.attach("t"))];
    await Promise.all([bySignal, byClose].map((reader) => reader.until(({ type }) => type === "run-end")));
    leave.abort();
    await bySignal.ended;
    await runtime.close();
    await byClose.ended;
  });
});

test("without a store there is nothing to attach to, and that is said", async () => {
  await using runtime = createRuntime({
    providers: { house: speaker() },
    models: { fast: { provider: "house", model: "fast-1" } },
    agents: { assistant: { model: "fast" } },
    log: quiet,
  });
  await runtime.run({ ...ask, input: "say" });
  await expect(new Reader(runtime.attach("t")).ended).rejects.toEqual(failing("capability_mismatch"));
});

test("ids of tenants never meet: each follows its own", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0]);
  const other = runtime.scoped("other");
  await shared.stores[0].scoped(scopeId("other")).threads.create({ id: threadId("t") });
  const theirs = new Reader(other.attach("t"));
  await runtime.run({ ...ask, input: "say" });
  await other.run({ ...ask, input: "think" });
  await theirs.until(({ type }) => type === "run-end");
  expect((await theirs.leave()).filter(({ type }) => type === "run-start")).toHaveLength(1);
});

test("`from: now` leaves out what is on record, also of a run that waits, and whoever attaches is told when he has caught up", async () => {
  await using shared = await openShared("sqlite");
  await using runtime = openNode(shared.stores[0]);
  const first = await runtime.run({ ...ask, input: "look approve say" });
  const [ticket] = first.status === "waiting" ? first.tickets : expect.fail();
  const caughtUp: number[] = [];
  const late = new Reader(runtime.attach(first.runId, { from: "now", onCaughtUp: () => caughtUp.push(late.events.length) }));
  const whole = new Reader(runtime.attach(first.runId, { onCaughtUp: () => caughtUp.push(whole.events.length) }));
  await expect.poll(() => caughtUp.length).toBe(2);
  expect(caughtUp).toEqual([0, whole.events.length]);
  const before = whole.events.length;
  await (await runtime.decide(ticket?.id ?? "", { action: "approve" })).result;
  await Promise.all([late.ended, whole.ended]);
  expect(late.events[0]).toMatchObject({ type: "run-start", resumed: true });
  expect(factsOf(late.events)).toEqual(factsOf(whole.events.slice(before)));
  // From there on a cursor is good for both.
  const cursor = late.events.find((event) => event.cursor !== undefined)?.cursor;
  expect(whole.events.map((event) => event.cursor)).toContain(cursor);
});

test("a tool that says more in one tick than is kept for a reader is heard to its end by one who reads", async () => {
  await using shared = await openShared("memory");
  const lines = Array.from({ length: 600 }, (_, index) => `${index}`);
  const chatty = defineTool({
    id: "chatty",
    description: "Says much",
    input: z.object({}),
    idempotent: true,
    async execute(_input, ctx) {
      for (const line of lines) await ctx.output(line);
      return "done";
    },
  });
  const turns = [toolCalls([{ id: "c", name: "chatty", input: {} }]), text("That is all.")];
  const house = speaker(() => turns.shift() ?? text("?"));
  await using runtime = openNode(shared.stores[0], { providers: { house }, tools: [chatty], workers: false });
  const run = runtime.stream({ ...ask, input: "go" });
  const follower = new Reader(runtime.attach(run.id));
  await follower.ended;
  expect(follower.events.flatMap((event) => (event.type === "tool-call-stream-delta" ? [event.delta] : []))).toEqual(lines);
});
