import { createClient } from "@awaken/client";
import { runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask as askFirst, defineTool, type Runtime } from "@awaken/runtime";
import { fakeClock } from "@awaken/runtime/testing";
import { afterAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { deaf } from "../mailbox/support/stores.ts";
import { ENGINES, openShared, stopServer } from "../relay/support/nodes.ts";
import { openNode } from "../relay/support/speaker.ts";
import { busy, endOf, hello, stream } from "./support/busy.ts";
import { ask, type Frame, openServer, readFrames, request, textOf } from "./support/client.ts";

// Submits to a thread on which somebody is at work or waits, over HTTP.

afterAll(stopServer);

const WORDS = "one two three äöü 😀 five.";
const T = threadId("t");
const INSTEAD = hello("say", { onBusy: "interrupt" });

const standing = async (runtime: Runtime, id: string) => (await ask(openServer({ runtime }), "GET", `/v1/runs/${id}`)).body;

const isEndOf = (data: Frame["data"], id: string) => data.type === "run-end" && data.runId === id;
const logSchema = z.object({ items: z.array(z.object({ message: z.object({ role: z.string(), content: z.unknown() }) })) });

/** What users said on the thread. */
async function saidOn(server: ReturnType<typeof openServer>): Promise<readonly unknown[]> {
  const { items } = logSchema.parse((await ask(server, "GET", "/v1/threads/t/messages?limit=200")).body);
  return items.flatMap(({ message }) => (message.role === "user" ? [Object(message.content)[0].text] : []));
}

describe.each(ENGINES)("a busy thread over HTTP on %s", (engine) => {
  test("server-and-durability 33: a submit that interrupts cancels the run at work on another node, waits for its last commit, then runs", async () => {
    await using shared = await openShared(engine);
    const { runtime, response, runId: old } = await busy(shared.stores[0]);
    await using other = openNode(shared.stores[1], { workers: false });
    const here = await stream(openServer({ runtime: other }), INSTEAD);
    expect(here.status).toBe(200);
    const frames = await readFrames(here);
    expect(frames[0]?.data).toMatchObject({ type: "run-start", runId: here.headers.get("x-run-id") });
    expect(endOf(frames)).toMatchObject({ type: "run-end", result: { status: "done" } });
    expect(textOf(frames)).toBe(WORDS);
    expect(endOf(await readFrames(response))).toMatchObject({ type: "run-end", runId: old, result: { status: "cancelled" } });
    expect(await standing(other, old)).toMatchObject({ status: "done", termination: { type: "cancelled" } });
    // The last word of the one on record comes before the first of the other, and what was said to both is kept.
    const server = openServer({ runtime: other });
    const own = here.headers.get("x-run-id") ?? expect.fail();
    const all = await readFrames(await server.fetch(request("GET", "/v1/threads/t/events/stream")), ({ data }) => isEndOf(data, own));
    expect(all.flatMap(({ data }) => (data.type === "run-start" || data.type === "run-end" ? [`${data.type} ${data.runId}`] : []))).toEqual(
      [`run-start ${old}`, `run-end ${old}`, `run-start ${own}`, `run-end ${own}`],
    );
    expect(await saidOn(server)).toEqual(["effect say", "say"]);
    await runtime.close();
  });

  test("server-and-durability 33: until the run that is interrupted has let go nothing is written, and the store is not asked over and over", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const input = z.object({ n: z.number() });
    const execute = () => {
      began.resolve();
      return end.promise;
    };
    // It hears that it should stop, and takes its time.
    const effect = defineTool({ id: "effect", description: "Lasts", input, execute });
    await using runtime = openNode(store, { workers: false, cancelGraceMs: 600_000, tools: [effect] });
    using _end = { [Symbol.dispose]: () => end.resolve("slept") };
    const first = await stream(openServer({ runtime }), hello("effect say"));
    await began.promise;
    let asked = 0;
    const counted = (records: QueueStore): QueueStore => ({
      ...records,
      dispatches: {
        ...records.dispatches,
        list: (...given) => {
          asked += 1;
          return records.dispatches.list(...given);
        },
      },
    });
    await using other = openNode(counted(peer), { workers: false });
    const here = stream(openServer({ runtime: other }), INSTEAD);
    const old = runId(first.headers.get("x-run-id") ?? expect.fail());
    await expect.poll(async () => (await peer.wishes.listOpen(old)).length).toBe(1);
    // As many looks of ours, in turns with whoever would look without waiting.
    for (let nth = 0; nth < 100; nth++) await peer.dispatches.list(T, {});
    expect(asked).toBeLessThan(20);
    expect(await peer.runs.count({})).toBe(1);
    end.resolve("slept");
    expect(endOf(await readFrames(first))).toMatchObject({ type: "run-end", runId: old, result: { status: "cancelled" } });
    expect(endOf(await readFrames(await here))).toMatchObject({ type: "run-end", result: { status: "done" } });
  });

  test("server-and-durability 34: when the owner does not let go the submit is 409, and no run or message was written", async () => {
    await using shared = await openShared(engine);
    const [store, peer] = shared.stores;
    const { runtime, response, release, runId: old } = await busy(deaf(store));
    const clock = fakeClock(Date.now());
    await using other = openNode(peer, { workers: false, clock });
    const server = openServer({ runtime: other });
    const before = await ask(server, "GET", "/v1/threads/t/messages?visibility=all&limit=200");
    expect(await saidOn(server)).toEqual(["effect say"]);
    const tried = Promise.all([
      ask(server, "POST", "/v1/runs", { body: INSTEAD }),
      ask(server, "POST", "/v1/runs/start", { body: INSTEAD }),
      ask(server, "POST", "/v1/threads/t/messages", { body: { messages: INSTEAD.messages, mode: "interrupt" } }),
      ask(server, "POST", "/v1/threads/t/interrupt"),
    ]);
    await expect.poll(async () => (await peer.wishes.listOpen(old)).length, { timeout: 120_000 }).toBe(4);
    let isTold = false;
    const told = tried.finally(() => {
      isTold = true;
    });
    while (!isTold) {
      await clock.advance(500);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (const reply of await told) expect(reply).toMatchObject({ status: 409, body: { code: "thread_already_running" } });
    expect((await ask(server, "GET", "/v1/threads/t/runs")).body).toMatchObject({ total: 1, items: [{ runId: old, status: "running" }] });
    expect((await ask(server, "GET", "/v1/threads/t/messages?visibility=all&limit=200")).body).toEqual(before.body);
    expect((await ask(server, "GET", "/v1/threads/t/pending")).body).toMatchObject({ entries: [] });
    expect((await peer.dispatches.list(T, { statuses: ["queued", "claimed"] })).map(({ runId: id }) => id)).toEqual([old]);
    release();
    expect(endOf(await readFrames(response))).toMatchObject({ type: "run-end", runId: old });
    await runtime.close();
  });

  test("server-and-durability 52: a barrier ahead is 409, and the run at work keeps running", async () => {
    await using shared = await openShared(engine);
    const { runtime, response, release, runId: old } = await busy(shared.stores[0]);
    await using other = openNode(shared.stores[1], { workers: false });
    const server = openServer({ runtime: other });
    const { body: sent } = await ask(server, "POST", "/v1/threads/t/messages", { body: { messages: hello("first this").messages } });
    const edited = await ask(server, "PATCH", `/v1/threads/t/pending/${Object(sent["messageIds"])[0]}`, {
      body: { deliveryMode: { barrier: true } },
      headers: { "if-match": '"1"' },
    });
    expect(edited).toMatchObject({ status: 200, body: { deliveryMode: { barrier: true } } });
    for (const path of ["/v1/runs", "/v1/runs/start"]) {
      expect(await ask(server, "POST", path, { body: INSTEAD })).toMatchObject({
        status: 409,
        body: { code: "pending_selection_conflict" },
      });
    }
    expect(await shared.stores[1].wishes.listOpen(old)).toEqual([]);
    expect(await standing(other, old)).toMatchObject({ status: "running" });
    release();
    expect(endOf(await readFrames(response))).toMatchObject({ type: "run-end", runId: old, result: { status: "done" } });
    await runtime.close();
  });

  test("a submit that queues is answered at once, and streams when its turn has come", async () => {
    await using shared = await openShared(engine);
    const { runtime, response, release } = await busy(shared.stores[0]);
    await using other = openNode(shared.stores[1], { workers: true });
    const client = createClient({ url: "http://localhost", fetch: openServer({ runtime: other }).fetch });
    const behind = client.stream({ agent: "assistant", thread: "t", input: "say", onBusy: "queue" });
    const id = await behind.id;
    expect(await standing(other, id)).toMatchObject({ status: "created" });
    release();
    expect(endOf(await readFrames(response))).toMatchObject({ result: { status: "done" } });
    const events = await Array.fromAsync(behind);
    expect(events[0]).toMatchObject({ type: "run-start", runId: id });
    expect(await behind.result).toMatchObject({ status: "done", text: WORDS });
    await runtime.close();
  });

  test("an Idempotency-Key where a run waits: a run of its own, once; the one that waited is ended, and another body is 409", async () => {
    await using shared = await openShared(engine);
    await using runtime = openNode(shared.stores[0]);
    await using other = openNode(shared.stores[1]);
    const [here, there] = [openServer({ runtime }), openServer({ runtime: other })];
    const idOf = (response: Response) => response.headers.get("x-run-id") ?? expect.fail();
    const waits = async () => {
      const response = await stream(here, hello("approve say"));
      const end = endOf(await readFrames(response));
      return { id: idOf(response), ticket: end?.type === "run-end" ? (end.tickets[0]?.id ?? "") : expect.fail() };
    };
    const waiting = await waits();
    const [one, two] = await Promise.all([here, there].map((server) => stream(server, hello("say"), { "idempotency-key": "k" })));
    if (one === undefined || two === undefined) return expect.fail();
    expect(idOf(two)).toBe(idOf(one));
    for (const frames of [await readFrames(one), await readFrames(two)]) {
      expect(frames[0]?.data).toMatchObject({ type: "run-start", runId: idOf(one) });
      expect(textOf(frames)).toBe(WORDS);
    }
    expect(await standing(runtime, waiting.id)).toMatchObject({ status: "done", termination: { type: "cancelled" } });
    expect(await ask(there, "POST", `/v1/tickets/${waiting.ticket}/decision`, { body: { action: "approve" } })).toMatchObject({
      body: { code: expect.stringMatching(/^ticket_not_(?:open|found)$/) },
    });
    expect(await ask(there, "POST", "/v1/runs", { body: hello("other"), headers: { "idempotency-key": "k" } })).toMatchObject({
      status: 409,
      body: { code: "idempotency_conflict" },
    });
    const next = await waits();
    const start = (words: string) => ask(there, "POST", "/v1/runs/start", { body: hello(words), headers: { "idempotency-key": "queued" } });
    const [first, again] = [await start("say"), await start("say")];
    expect(first.status).toBe(202);
    expect(again.body).toEqual(first.body);
    expect(await start("other")).toMatchObject({ status: 409, body: { code: "idempotency_conflict" } });
    expect((await ask(there, "GET", `/v1/runs/${first.body["runId"]}/result`)).body).toMatchObject({ status: "done", text: WORDS });
    expect(await standing(other, next.id)).toMatchObject({ status: "done", termination: { type: "cancelled" } });
    expect((await ask(here, "GET", "/v1/threads/t/runs")).body).toMatchObject({ total: 4 });
    const { body } = await ask(here, "GET", "/v1/threads/t/messages?limit=200");
    expect(JSON.stringify(body).split('"text":"say"')).toHaveLength(3);
  });
});

test.each([{}, { "idempotency-key": "k" }])(
  "a submit that would interrupt, on a thread of its own: there is nobody to interrupt, and its run is streamed (%j)",
  async (headers) => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0]);
    const { threadId: _, ...body } = INSTEAD;
    const frames = await readFrames(await stream(openServer({ runtime }), body, headers));
    expect(frames[0]?.data).toMatchObject({ type: "run-start", resumed: false });
    expect(textOf(frames)).toBe(WORDS);
    expect(endOf(frames)).toMatchObject({ type: "run-end", result: { status: "done" } });
  },
);

test("who is refused because a thread is busy is not told which process has it", async () => {
  await using shared = await openShared("memory");
  const { runtime, response, release } = await busy(shared.stores[0]);
  await using other = openNode(shared.stores[1], { workers: false });
  const refused = { error: "thread already has an active run: t", code: "thread_already_running" };
  const body = hello("say", { onBusy: "refuse" });
  for (const server of [openServer({ runtime }), openServer({ runtime: other })]) {
    for (const path of ["/v1/runs", "/v1/runs/start"]) {
      const reply = await ask(server, "POST", path, { body });
      expect([reply.status, reply.body]).toEqual([409, refused]);
    }
  }
  release();
  expect(endOf(await readFrames(response))).toMatchObject({ result: { status: "done" } });
  await runtime.close();
});

test("whoever waits for a result waits no longer than he says, also where the run is executed, and has it as soon as it is there", async () => {
  await using shared = await openShared("memory");
  const { runtime, response, release, runId: id } = await busy(shared.stores[0]);
  const clock = fakeClock(0);
  const server = openServer({ runtime, clock });
  const asked = (ms: number) => ask(server, "GET", `/v1/runs/${id}/result?timeoutMs=${ms}`);
  const [now, soon, later] = [asked(0), asked(1_000), asked(30_000)];
  await expect.poll(() => clock.pendingTimers).toBe(3);
  await clock.advance(1_000);
  for (const reply of [await now, await soon]) expect(reply).toMatchObject({ status: 504, body: { code: "timeout" } });
  release();
  expect(await later).toMatchObject({ status: 200, body: { status: "done" } });
  expect(clock.pendingTimers).toBe(0);
  expect(await asked(0)).toMatchObject({ status: 200, body: { status: "done" } });
  expect(endOf(await readFrames(response))).toMatchObject({ result: { status: "done" } });
  await runtime.close();
});

test.each([
  ["interrupts", { onBusy: "interrupt" }],
  ["is refused", {}],
])(
  "a repeat with the same key that comes before the run is on record waits for it: one that %s where a thread is busy",
  async (_, more) => {
    await using shared = await openShared("memory");
    const [store] = shared.stores;
    const { runtime, response, release, runId: id } = await busy(store, more, { "idempotency-key": "k" });
    let unseen = 0;
    const scoped: QueueStore["scoped"] = (scope) => {
      const records = store.scoped(scope);
      const load: typeof records.runs.load = async (run) => (run === id && ++unseen <= 2 ? undefined : records.runs.load(run));
      return { ...records, runs: { ...records.runs, load } };
    };
    const served = { scoped: runtime.scoped, recover: runtime.recover, watch: runtime.watch, store: { ...store, scoped } };
    for (const path of ["/v1/runs", "/v1/runs/start"]) {
      unseen = 0;
      const body = hello("effect say", more);
      const again = await openServer({ runtime: served }).fetch(request("POST", path, { body, headers: { "idempotency-key": "k" } }));
      expect([again.status, path.endsWith("start") ? (await again.json()).runId : again.headers.get("x-run-id")]).toEqual([
        path.endsWith("start") ? 202 : 200,
        id,
      ]);
      expect(unseen).toBeGreaterThan(2);
    }
    expect(await standing(runtime, id)).toMatchObject({ status: "running" });
    release();
    expect(endOf(await readFrames(response))).toMatchObject({ runId: id, result: { status: "done" } });
    await runtime.close();
  },
);

test("a repeat with the same key whose run came to be, and to its end, behind the server's back is given that run", async () => {
  await using shared = await openShared("memory");
  const [store] = shared.stores;
  await using runtime = openNode(store, { workers: false });
  const key = { "idempotency-key": "k" };
  const first = await stream(openServer({ runtime }), hello("say"), key);
  const id = first.headers.get("x-run-id");
  expect(textOf(await readFrames(first))).toBe(WORDS);
  let unseen = 0;
  const scoped: QueueStore["scoped"] = (scope) => {
    const records = store.scoped(scope);
    const load: typeof records.runs.load = async (run) => (++unseen === 1 ? undefined : records.runs.load(run));
    return { ...records, runs: { ...records.runs, load } };
  };
  const served = { scoped: runtime.scoped, recover: runtime.recover, watch: runtime.watch, store: { ...store, scoped } };
  const again = await stream(openServer({ runtime: served }), hello("say"), key);
  expect([again.status, again.headers.get("x-run-id")]).toEqual([200, id]);
  expect(textOf(await readFrames(again))).toBe(WORDS);
  expect(unseen).toBeGreaterThan(1);
});

test("a start with a key whose dedupeKey somebody holds is refused at once, and does not run when he is done", async () => {
  await using shared = await openShared("memory");
  await using runtime = openNode(shared.stores[0], { workers: false });
  // Nobody moves it: who waits, waits for ever.
  const server = openServer({ runtime, clock: fakeClock(0) });
  const start = (key: string) =>
    ask(server, "POST", "/v1/runs/start", { body: hello("say", { dedupeKey: "nightly" }), headers: { "idempotency-key": key } });
  const first = await start("one");
  expect(first.status).toBe(202);
  expect(await start("two")).toMatchObject({ status: 409, body: { code: "storage_already_exists" } });
  expect(await start("one")).toMatchObject({ status: 202, body: first.body });
  expect((await ask(server, "GET", "/v1/threads/t/runs")).body).toMatchObject({ total: 1 });
});

describe("a thread that changes between the server's look at it and the submit", () => {
  /** What the server reads of the thread is as old as it was before `change`. */
  const stale = (runtime: Runtime, store: QueueStore, change: () => Promise<unknown>) => {
    const scoped: QueueStore["scoped"] = (scope) => {
      const records = store.scoped(scope);
      const load: typeof records.threads.load = async (id) => {
        const before = await records.threads.load(id);
        const run = before?.openRunId === undefined ? undefined : await records.runs.load(before.openRunId);
        await change();
        const loadRun: typeof records.runs.load = async (runId) =>
          run !== undefined && runId === run.runId ? run : records.runs.load(runId);
        Object.assign(served, { load: loadRun });
        return before;
      };
      const served = { ...records.runs };
      return { ...records, threads: { ...records.threads, load }, runs: served };
    };
    return openServer({ runtime: { scoped: runtime.scoped, recover: runtime.recover, watch: runtime.watch, store: { ...store, scoped } } });
  };
  const waits = async (runtime: Runtime) => {
    const response = await stream(openServer({ runtime }), hello("approve say"));
    const end = endOf(await readFrames(response));
    const ticket = end?.type === "run-end" ? (end.tickets[0]?.id ?? "") : expect.fail();
    return { id: response.headers.get("x-run-id") ?? expect.fail(), ticket };
  };

  test.each(["refuse", "interrupt", "queue"])("the run that waited is over: what is streamed is the new one (%s)", async (onBusy) => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0], { workers: onBusy === "queue" });
    const { id, ticket } = await waits(runtime);
    const decide = async () => (await runtime.decide(ticket, { action: "approve" })).result;
    const response = await stream(stale(runtime, shared.stores[0], decide), hello("say", { onBusy }));
    const frames = await readFrames(response);
    const own = response.headers.get("x-run-id");
    expect(own).not.toBe(id);
    expect(frames[0]?.data).toMatchObject({ type: "run-start", runId: own, resumed: false });
    expect(endOf(frames)).toMatchObject({ type: "run-end", runId: own, result: { status: "done" } });
    expect(textOf(frames)).toBe(WORDS);
  });

  test.each(["refuse", "interrupt", "queue"])(
    "a run began to wait: it goes on, and only what it says now is streamed (%s)",
    async (onBusy) => {
      await using shared = await openShared("memory");
      await using runtime = openNode(shared.stores[0], { workers: onBusy === "queue" });
      await (await stream(openServer({ runtime }), hello("say"))).text();
      let id = "";
      const wait = async () => {
        ({ id } = await waits(runtime));
      };
      const response = await stream(stale(runtime, shared.stores[0], wait), hello("say", { onBusy }));
      const frames = await readFrames(response);
      expect(response.headers.get("x-run-id")).toBe(id);
      expect(frames[0]?.data).toMatchObject({ type: "run-start", runId: id, resumed: true });
      expect(frames.filter(({ data }) => data.type === "run-end")).toHaveLength(1);
      expect(endOf(frames)).toMatchObject({ type: "run-end", runId: id, result: { status: "done" } });
    },
  );

  /** Something happens between the server's look and its `start`. */
  const meanwhile = (runtime: Runtime, store: QueueStore, change: () => Promise<unknown>) => {
    const scoped: Runtime["scoped"] = (scope) => {
      const tenant = runtime.scoped(scope);
      const start: typeof tenant.start = async (asked) => {
        await change();
        return tenant.start(asked);
      };
      return { ...tenant, start };
    };
    return openServer({ runtime: { scoped, recover: runtime.recover, watch: runtime.watch, store } });
  };

  test("the run that waits went on for somebody else and waits again: only what comes of this request is streamed", async () => {
    await using shared = await openShared("memory");
    await using runtime = openNode(shared.stores[0], { workers: true });
    const { id } = await waits(runtime);
    const other = () => runtime.run({ agent: "assistant", thread: "t", input: "approve say" });
    const response = await stream(meanwhile(runtime, shared.stores[0], other), hello("say", { onBusy: "queue" }));
    const frames = await readFrames(response);
    expect(frames[0]?.data).toMatchObject({ type: "run-start", runId: id, resumed: true });
    expect(frames.filter(({ data }) => data.type === "run-end")).toHaveLength(1);
    expect(endOf(frames)).toMatchObject({ type: "run-end", runId: id, result: { status: "done" } });
    expect(textOf(frames)).toBe(WORDS);
  });

  test.each(["the server saw it wait", "it began to wait since"])(
    "a run that is cancelled before it takes the messages: its end is told, once (%s)",
    async (when) => {
      await using shared = await openShared("memory");
      await using runtime = openNode(shared.stores[0], { workers: false });
      const begun = Promise.withResolvers<string>();
      const wait = async () => begun.resolve((await waits(runtime)).id);
      const isSeen = when === "the server saw it wait";
      if (isSeen) await wait();
      else await (await stream(openServer({ runtime }), hello("say"))).text();
      const server = isSeen ? openServer({ runtime }) : stale(runtime, shared.stores[0], wait);
      const response = await stream(server, hello("say", { onBusy: "queue" }));
      const id = await begun.promise;
      expect(response.headers.get("x-run-id")).toBe(id);
      expect(await runtime.cancel(id)).toBe(true);
      const frames = await readFrames(response);
      expect(frames.filter(({ data }) => data.type === "run-end")).toHaveLength(1);
      expect(endOf(frames)).toMatchObject({ type: "run-end", runId: id, result: { status: "cancelled" } });
    },
  );
});

test("a decision under an id that was taken meanwhile: the same again is accepted, another one is refused, also by a node that looked before", async () => {
  await using shared = await openShared("memory");
  const [store] = shared.stores;
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const execute = () => {
    began.resolve();
    return end.promise;
  };
  const input = z.object({ n: z.number() });
  const approve = defineTool({ id: "approve", description: "Asks first", input, approve: () => askFirst("May I?"), execute });
  await using runtime = openNode(store, { workers: false, tools: [approve] });
  const first = await stream(openServer({ runtime }), hello("approve say"));
  const waiting = endOf(await readFrames(first));
  const ticket = waiting?.type === "run-end" ? (waiting.tickets[0]?.id ?? expect.fail()) : expect.fail();
  const before = await store.runs.listByTicket(ticket);
  const stale = { ...store, runs: { ...store.runs, listByTicket: async () => before } };
  await using other = openNode(stale, { workers: false, tools: [approve] });
  using _end = { [Symbol.dispose]: () => end.resolve("allowed") };
  const [here, there] = [openServer({ runtime }), openServer({ runtime: other })];
  const decide = (server: ReturnType<typeof openServer>, action: string) =>
    ask(server, "POST", `/v1/tickets/${ticket}/decision`, { body: { action, id: "once" } });
  expect(await decide(here, "approve")).toMatchObject({ status: 202 });
  await began.promise;
  expect(await decide(there, "approve")).toMatchObject({ status: 202 });
  expect(await decide(there, "deny")).toMatchObject({ status: 409, body: { code: "decision_conflict" } });
  end.resolve("allowed");
  expect((await ask(here, "GET", `/v1/runs/${first.headers.get("x-run-id")}/result`)).body).toMatchObject({ status: "done", text: WORDS });
});
