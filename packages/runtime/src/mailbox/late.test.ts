import { AwakenError, dispatchId, messageId, messageText, threadId } from "@awaken/contract";
import type { Claim, QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import type { Clock } from "../stream/clock.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import type { Tool } from "../tool/tool.ts";
import { ask } from "../tool/verdict.ts";
import { endRecord } from "./end-record.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("t");

const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

const open = (store: QueueStore, turns: readonly ScriptStep[], workers = false, tools: readonly Tool[] = [pay], clock?: Clock) =>
  createRuntime({
    ...(clock === undefined ? undefined : { clock }),
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    tools,
    log: { warn() {}, error() {} },
    store,
    workers,
  });

/** As if whoever holds claims were gone. */
const takeAway = async ({ queue }: QueueStore): Promise<void> => {
  await queue.reclaimExpired(
    undefined,
    (await queue.listConsumers()).map(({ name }) => name),
  );
};

const said = async (store: QueueStore) =>
  (await store.messages.list(T, {})).items.flatMap(({ message }) => (message.role === "user" ? [messageText(message)] : []));

describe.each(STORES)("a message for a run that waited when it was looked at, on %s", (_, make) => {
  test("is answered by a run of its own when the run has ended meanwhile", async () => {
    await using store = make();
    await using first = open(store, [toolCall("pay", {}), text("paid it")]);
    const { tickets } = await first.run({ thread: "t", input: "pay" }).then((run) => (run.status === "waiting" ? run : { tickets: [] }));
    const decided = async () => (await first.decide(tickets[0]?.id ?? "", { action: "approve" })).result;
    // Between the look at the thread and the commit of the message.
    const late: QueueStore = {
      ...store,
      threads: {
        ...store.threads,
        loadHead: async (id) => {
          const head = await store.threads.loadHead(id);
          await decided();
          return head;
        },
      },
    };
    await using talker = open(late, []);
    await talker.start({ thread: "t", input: "and thanks" });
    await using _worker = open(store, [text("you are welcome")], true);
    await expect.poll(() => said(store)).toEqual(["pay", "and thanks"]);
    await expect.poll(async () => (await store.dispatches.countByStatus()).acked).toBeGreaterThan(2);
    // The run that has read it may still be at work.
    await expect.poll(() => store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0, "dead-letter": 0 });
    expect((await store.pending.load(T)).entries).toEqual([]);
    expect((await store.messages.list(T, {})).items.map(({ message }) => messageText(message)).at(-1)).toBe("you are welcome");
  });

  test("is answered also when somebody is at work on the run by then", async () => {
    await using store = make();
    await using first = open(store, [toolCall("pay", {})]);
    await first.run({ thread: "t", input: "pay" });
    await first.start({ thread: "t", input: "forget it" });
    const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const lasting = () => {
      began.resolve();
      return { items: [{ type: "until", promise: end.promise } as const, ...text("I will not").items] };
    };
    const worker: { opened?: ReturnType<typeof open> } = {};
    const late: QueueStore = {
      ...store,
      threads: {
        ...store.threads,
        loadHead: async (id) => {
          const head = await store.threads.loadHead(id);
          worker.opened = open(store, [lasting, text("you are welcome")], true);
          await began.promise;
          return head;
        },
      },
    };
    await using talker = open(late, []);
    await talker.start({ thread: "t", input: "and thanks" });
    end.resolve();
    await expect.poll(() => said(store)).toEqual(["pay", "forget it", "and thanks"]);
    await expect.poll(async () => store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0, "dead-letter": 0 });
    expect((await store.pending.load(T)).entries).toEqual([]);
    await worker.opened?.close();
  });
});

test.each(STORES)("a cancel of a run that ends while it is looked for says that there is none, on %s", async (_, make) => {
  await using store = make();
  const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    execute: async () => {
      began.resolve();
      await end.promise;
      return "slept";
    },
  });
  await using first = open(store, [toolCall("slow", {}), text("done")], false, [slow]);
  const run = first.stream({ thread: "t", input: "x" });
  await began.promise;
  const late: QueueStore = {
    ...store,
    transaction: async (work) => {
      end.resolve();
      await run.result;
      return store.transaction(work);
    },
  };
  await using other = open(late, []);
  expect(await other.cancel(run.id)).toBe(false);
  expect(await run.result).toMatchObject({ status: "done", text: "done" });
});

test.each(STORES)("a decision in a process that stood still reaches the one that has the run now, on %s", async (_, make) => {
  await using shared = make();
  let isAway = false;
  const store: QueueStore = {
    ...shared,
    dispatches: {
      ...shared.dispatches,
      extendLease: async (fence, ms) => {
        if (isAway) throw new AwakenError("storage_io", "the database is starting up");
        return shared.dispatches.extendLease(fence, ms);
      },
    },
  };
  const began = Promise.withResolvers<void>();
  const lasting = defineTool({
    id: "slow",
    description: "",
    input: z.object({}),
    idempotent: true,
    execute: (_input, { signal }) => {
      began.resolve();
      return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("stopped")));
    },
  });
  const quick = defineTool({ id: "slow", description: "", input: z.object({}), idempotent: true, execute: () => "slept" });
  const old = open(store, [toolCall("slow", {}, { id: "c1" })], false, [lasting, pay]);
  const run = old.stream({ thread: "t", input: "x", runId: "r" });
  await began.promise;
  await takeAway(store);
  await using next = open(store, [toolCall("pay", {}, { id: "c2" }), text("paid it")], true, [quick, pay]);
  const waiting = await next.wait("r");
  const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
  // It does not know that the run is another one's, nor of the ticket; and while the store is away it cannot find out.
  isAway = true;
  await expect(old.decide(ticket?.id ?? "", { action: "approve" })).rejects.toMatchObject({ code: "storage_io" });
  isAway = false;
  await old.decide(ticket?.id ?? "", { action: "approve" });
  await expect.poll(async () => (await next.wait("r")).text).toBe("paid it");
  expect(await run.result).toMatchObject({ status: "failed", error: { code: "fence_lost" } });
  expect(await old.wait("r")).toMatchObject({ status: "done", text: "paid it" });
  await old.close();
});

test.each(STORES)("a decision about a ticket that somebody else decides while the run is read comes too late, on %s", async (_, make) => {
  await using store = make();
  await using first = open(store, [toolCall("pay", {}), text("paid it")]);
  const waiting = await first.run({ thread: "t", input: "pay" });
  const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
  const id = ticket?.id ?? "";
  let isRead = false;
  const late: QueueStore = {
    ...store,
    threads: {
      ...store.threads,
      // Behind the record of the run, and before its thread.
      loadHead: async (thread) => {
        if (!isRead) {
          isRead = true;
          await (await first.decide(id, { action: "approve" })).result;
        }
        return store.threads.loadHead(thread);
      },
    },
  };
  await using other = open(late, []);
  await expect(other.decide(id, { action: "deny" })).rejects.toMatchObject({ code: "ticket_not_open" });
  expect(isRead).toBe(true);
  expect(await first.wait(waiting.runId)).toMatchObject({ status: "done", text: "paid it" });
});

/** A process whose clock is ahead by `jump`: it stood still for so long. */
function standstill() {
  const clock = fakeClock(1_000);
  const late = { ...clock, now: () => clock.now() + late.jump, jump: 0 };
  return late;
}

describe.each(STORES)("a process that stood still for longer than its lease while a claim was answered, on %s", (_, make) => {
  const play = async (meanwhile: (store: QueueStore) => Promise<unknown>) => {
    const store = make();
    const clock = standstill();
    const begun: string[] = [];
    const effect = (by: string) =>
      defineTool({ id: "effect", description: "", input: z.object({}), idempotent: true, execute: () => `effect ${begun.push(by)}` });
    const stopped: QueueStore = {
      ...store,
      commit: async (commit) => {
        const result = await store.commit(commit);
        if ((commit.ledger?.claims.length ?? 0) === 0) return result;
        // Its answer is read when the process goes on, and before any timer fires.
        clock.jump += 31_000;
        await meanwhile(store);
        return result;
      },
    };
    await using runtime = open(stopped, [toolCall("effect", {}), text("done")], false, [effect("first")], clock);
    const ended = await runtime.run({ thread: "t", input: "x" }).catch((thrown: unknown) => thrown);
    return { store, begun, effect, ended };
  };

  test("begins no call that it had claimed when somebody else has the run, and writes nothing of it", async () => {
    const { store, begun, effect } = await play((shared) => takeAway(shared));
    expect(begun).toEqual([]);
    expect(await store.runs.list({})).toMatchObject({ items: [{ status: "running" }] });
    await using worker = open(store, [text("done")], true, [effect("second")]);
    const [run] = (await store.runs.list({})).items;
    expect(await worker.wait(run?.runId ?? "")).toMatchObject({ status: "done", text: "done" });
    expect(begun).toEqual(["second"]);
    await store.close();
  });

  test("goes on when nobody took the run", async () => {
    const { store, begun, ended } = await play(async () => {});
    expect(ended).toMatchObject({ status: "done", text: "done" });
    expect(begun).toEqual(["first"]);
    await store.close();
  });
});

test.each(STORES)("a call that kept its process for longer than the lease is the last one that is begun here, on %s", async (_, make) => {
  await using store = make();
  const clock = standstill();
  const begun: string[] = [];
  const effect = (by: string) =>
    defineTool({
      id: "effect",
      description: "",
      input: z.object({ nth: z.number() }),
      idempotent: true,
      execute: ({ nth }) => {
        begun.push(`${by} ${nth}`);
        // The next call of the round follows in the same tick.
        if (by === "first") clock.jump += 31_000;
        return nth;
      },
    });
  const stopped: QueueStore = {
    ...store,
    dispatches: {
      ...store.dispatches,
      extendLease: async (fence, ms) => {
        await takeAway(store);
        return store.dispatches.extendLease(fence, ms);
      },
    },
  };
  const calls = [0, 1].map((nth) => ({ name: "effect", input: { nth } }));
  await using runtime = open(stopped, [toolCalls(calls), text("done")], false, [effect("first")], clock);
  expect(await runtime.run({ thread: "t", input: "x", runId: "r" })).toMatchObject({ status: "failed", error: { code: "fence_lost" } });
  expect(begun).toEqual(["first 0"]);
  await using worker = open(store, [text("done")], true, [effect("second")]);
  expect(await worker.wait("r")).toMatchObject({ status: "done", text: "done" });
  expect(begun).toEqual(["first 0", "second 0", "second 1"]);
});

test.each(STORES)("a lease whose renewals are all answered too late is lost, and nothing is begun, on %s", async (_, make) => {
  await using store = make();
  const clock = standstill();
  const begun: string[] = [];
  const counts = { renewals: 0 };
  const effect = (by: string) =>
    defineTool({ id: "effect", description: "", input: z.object({}), idempotent: true, execute: () => void begun.push(by) });
  const slow: QueueStore = {
    ...store,
    commit: async (commit) => {
      const result = await store.commit(commit);
      if ((commit.ledger?.claims.length ?? 0) > 0) clock.jump += 20_000;
      return result;
    },
    dispatches: {
      ...store.dispatches,
      extendLease: async (fence, ms) => {
        counts.renewals += 1;
        const renewal = await store.dispatches.extendLease(fence, ms);
        clock.jump += 20_000;
        return renewal;
      },
    },
  };
  await using runtime = open(slow, [toolCall("effect", {})], false, [effect("first")], clock);
  expect(await runtime.run({ thread: "t", input: "x", runId: "r" })).toMatchObject({ status: "failed", error: { code: "fence_lost" } });
  expect(counts.renewals).toBe(3);
  await takeAway(store);
  await using worker = open(store, [text("done")], true, [effect("second")]);
  expect(await worker.wait("r")).toMatchObject({ status: "done", text: "done" });
  expect(begun).toEqual(["second"]);
});

test.each(STORES)("a lease that the store refuses to renew for a moment is not lost before it is over, on %s", async (_, make) => {
  await using store = make();
  const clock = fakeClock(1_000);
  const [refused, slept]: [number[], number[]] = [[], []];
  const timer: Clock["timer"] = (ms, fire) => {
    const stop = clock.timer(ms, fire);
    if (ms === 3_000) slept.push(ms);
    return stop;
  };
  const late = { ...clock, timer, now: () => clock.now() + late.jump, jump: 0 };
  const slow: QueueStore = {
    ...store,
    commit: async (commit) => {
      const result = await store.commit(commit);
      if ((commit.ledger?.claims.length ?? 0) > 0) late.jump += 16_000;
      return result;
    },
    dispatches: {
      ...store.dispatches,
      extendLease: async (fence, ms) => {
        if (refused.push(late.now()) <= 4) throw new AwakenError("storage_io", "the database is starting up");
        return store.dispatches.extendLease(fence, ms);
      },
    },
  };
  const effect = defineTool({ id: "effect", description: "", input: z.object({}), idempotent: true, execute: () => "happened" });
  await using runtime = open(slow, [toolCall("effect", {}), text("done")], false, [effect], late);
  const running = runtime.run({ thread: "t", input: "x" });
  for (const tries of [1, 2, 3, 4]) {
    await expect.poll(() => slept.length).toBe(tries);
    await clock.advance(3_000);
  }
  expect(await running).toMatchObject({ status: "done", text: "done" });
});

describe.each(STORES)("a process whose claim of the thread was answered late, on %s", (_, make) => {
  /** Most of the lease is over when the answer is read; how often the lease was renewed by the time that a call with an effect begins. */
  const renewedBefore = async (workers: boolean): Promise<number[]> => {
    await using store = make();
    const clock = standstill();
    const counts = { renewals: 0, seen: [] as number[] };
    const late = <T>(answer: T): T => {
      clock.jump += 20_000;
      return answer;
    };
    const slow: QueueStore = {
      ...store,
      commit: async (commit) => {
        const result = await store.commit(commit);
        return commit.dispatch?.type === "enqueue-claimed" ? late(result) : result;
      },
      dispatches: {
        ...store.dispatches,
        claim: async (thread, claim) => {
          const claimed = await store.dispatches.claim(thread, claim);
          return claimed === undefined ? undefined : late(claimed);
        },
        extendLease: (fence, ms) => {
          counts.renewals += 1;
          return store.dispatches.extendLease(fence, ms);
        },
      },
    };
    const effect = defineTool({
      id: "effect",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: () => void counts.seen.push(counts.renewals),
    });
    await using runtime = open(slow, [toolCall("effect", {}), text("done")], workers, [effect], clock);
    const { runId } = workers ? await runtime.start({ thread: "t", input: "x" }) : { runId: undefined };
    const ended = runId === undefined ? await runtime.run({ thread: "t", input: "x" }) : await runtime.wait(runId);
    expect(ended).toMatchObject({ status: "done", text: "done" });
    return counts.seen;
  };

  test("renews it before it begins a call: the store counts from when it was asked", async () => {
    expect(await renewedBefore(false)).toEqual([1]);
  });

  test("also when it took the run from the queue", async () => {
    expect(await renewedBefore(true)).toEqual([1]);
  });
});

test.each(STORES)(
  "a run whose lease cannot be renewed ends in another process, and nobody has it on record as cancelled, on %s",
  async (_, make) => {
    await using store = make();
    const clock = fakeClock(1_000);
    const began = Promise.withResolvers<void>();
    const slow = (lasts: boolean) =>
      defineTool({
        id: "slow",
        description: "",
        input: z.object({}),
        idempotent: true,
        execute: async (_input, { signal }) => {
          began.resolve();
          if (lasts) await new Promise((resolve) => signal.addEventListener("abort", resolve));
          return "slept";
        },
      });
    const deaf: QueueStore = {
      ...store,
      dispatches: { ...store.dispatches, extendLease: () => Promise.reject(new Error("the network is down")) },
    };
    await using first = open(deaf, [toolCall("slow", {}), text("never")], false, [slow(true)], clock);
    const run = first.stream({ thread: "t", input: "x" });
    await began.promise;
    for (let ms = 0; ms < 45_000; ms += 1_000) await clock.advance(1_000);
    expect(await run.result).toMatchObject({ status: "failed", error: { code: "fence_lost" } });
    expect(await store.runs.load(run.id)).toMatchObject({ status: "running" });
    expect(await store.ledger.list(run.id, { statuses: ["claimed"] })).toHaveLength(1);
    await takeAway(store);
    await using worker = open(store, [text("done")], true, [slow(false)]);
    expect(await worker.wait(run.id)).toMatchObject({ status: "done", text: "done" });
    expect(await store.ledger.list(run.id, { statuses: ["claimed"] })).toEqual([]);
  },
);

/** Somebody does something between a claim and the first commit of its run. */
const afterClaims = (store: QueueStore, act: (claim: Claim) => Promise<Claim>): QueueStore => ({
  ...store,
  dispatches: {
    ...store.dispatches,
    claim: async (...given) => {
      const claim = await store.dispatches.claim(...given);
      return claim && act(claim);
    },
    claimDispatch: async (...given) => {
      const claim = await store.dispatches.claimDispatch(...given);
      return claim && act(claim);
    },
  },
});

const DOWN = new AwakenError("storage_io", "the network is down");

/** A thread with a run that waits, one that is queued behind it, and a process that died when it went on with the first. */
async function cutBeforeQueued(store: QueueStore) {
  const began = Promise.withResolvers<void>();
  const guarded = (by: string) =>
    defineTool({
      id: "pay",
      description: "",
      input: z.object({}),
      idempotent: true,
      approve: () => ask("Pay?"),
      execute: async () => {
        began.resolve();
        return by === "dies" ? new Promise<string>(() => {}) : "paid";
      },
    });
  await using talker = open(store, [toolCall("pay", {})], false, [guarded("asks")]);
  const first = await talker.run({ thread: "t", input: "pay" });
  const queued = await talker.start({ thread: "t", input: "and then", runId: "second" });
  const [ticket] = first.status === "waiting" ? first.tickets : [];
  // Its clock stands still: it renews nothing and comes to no end.
  const dies = open(store, [], false, [guarded("dies")], fakeClock(1_000));
  await dies.decide(ticket?.id ?? "", { action: "approve" });
  await began.promise;
  await takeAway(store);
  return { first: first.runId, second: queued.runId, tool: guarded("ends") };
}

describe.each(STORES)("a run that was cut off comes before one that was queued while it waited, on %s", (_, make) => {
  test("it is brought to its end, and only then the other one begins", async () => {
    await using store = make();
    const { first, second, tool } = await cutBeforeQueued(store);
    await using worker = open(store, [text("paid it"), text("then that")], true, [tool]);
    expect(await worker.wait(first)).toMatchObject({ status: "done", text: "paid it" });
    expect(await worker.wait(second)).toMatchObject({ status: "done", text: "then that" });
    expect(await store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0, "dead-letter": 0 });
    expect((await said(store)).join()).toBe("pay,and then");
  });

  test("also when it has to wait after a failure", async () => {
    await using store = make();
    const { first, second, tool } = await cutBeforeQueued(store);
    let failures = 0;
    const failing = afterClaims(store, async (claim) => {
      const isFailing = claim.dispatch.runId === first && failures++ === 0;
      return isFailing ? { ...claim, records: DOWN } : claim;
    });
    await using worker = open(failing, [text("paid it"), text("then that")], true, [tool]);
    await expect.poll(async () => (await store.runs.load(second))?.status).toBe("done");
    expect(failures).toBe(2);
    expect(await worker.wait(first)).toMatchObject({ status: "done", text: "paid it" });
    expect(await worker.wait(second)).toMatchObject({ status: "done", text: "then that" });
  });
});

describe.each(STORES)("a run that another one gives way to, on %s", (_, make) => {
  test("is taken up soon, also when the answer to its claim was lost", async () => {
    await using store = make();
    const { first, second, tool } = await cutBeforeQueued(store);
    let lost = 0;
    const claimDispatch: QueueStore["dispatches"]["claimDispatch"] = async (id, request) => {
      const claim = await store.dispatches.claimDispatch(id, request);
      if (lost++ === 0) throw DOWN;
      return claim;
    };
    const losing = { ...store, dispatches: { ...store.dispatches, claimDispatch } };
    await using worker = open(losing, [text("paid it"), text("then that")], true, [tool]);
    await expect.poll(async () => (await store.runs.load(second))?.status, { timeout: 5_000 }).toBe("done");
    expect(await worker.wait(first)).toMatchObject({ status: "done", text: "paid it" });
    expect(await worker.wait(second)).toMatchObject({ status: "done", text: "then that" });
    // The one try is that of the process which died.
    expect((await store.dispatches.list(T, {})).map(({ attemptCount }) => attemptCount)).toEqual([0, 0, 1]);
  });
});

describe.each(STORES)("runs that overtake each other on one thread, on %s", (_, make) => {
  test("each reads its own message, and what is for whoever comes first, whatever waits in front of it", async () => {
    await using store = make();
    await using talker = open(store, []);
    const late = await talker.start({ thread: "t", input: "whenever", priority: 200 });
    await talker.send("t", "in between", { mode: "queue" });
    const soon = await talker.start({ thread: "t", input: "now", priority: 1 });
    await using worker = open(store, [text("a"), text("b"), text("c")], true);
    const ended = await Promise.all([late, soon].map(({ runId }) => worker.wait(runId)));
    expect(ended.map(({ status }) => status)).toEqual(["done", "done"]);
    await expect.poll(() => said(store)).toEqual(["in between", "now", "whenever"]);
    await expect.poll(async () => await store.dispatches.countByStatus()).toMatchObject({ queued: 0, claimed: 0, "dead-letter": 0 });
    expect((await store.pending.load(T)).entries).toEqual([]);
  });
});

describe.each(STORES)("runs that are queued one behind the other, on %s", (_, make) => {
  test("one whose messages change while it is taken up looks again, and uses up no attempt", async () => {
    await using store = make();
    await using talker = open(store, []);
    const { runId } = await talker.start({ thread: "t", input: "first" });
    let changes = 0;
    const change = async <Read>(read: Read): Promise<Read> => {
      if (changes++ < 3)
        await store.pending.append(T, [
          { message: { id: messageId(`m${changes}`), role: "user", content: [{ type: "text", text: `more ${changes}` }] } },
        ]);
      return read;
    };
    const changing: QueueStore = {
      ...afterClaims(store, change),
      pending: { ...store.pending, load: async (thread) => change(await store.pending.load(thread)) },
    };
    await using worker = open(changing, [text("all of it")], true);
    expect(await worker.wait(runId)).toMatchObject({ status: "done", text: "all of it" });
    expect(await said(store)).toEqual(["first", "more 1", "more 2", "more 3"]);
    expect(await store.dispatches.load(dispatchId(runId))).toMatchObject({ status: "acked", attemptCount: 0 });
  });

  test("one that is ended while it is taken up stays so, begins nothing, and holds nobody back", async () => {
    await using store = make();
    await using talker = open(store, []);
    const { runId } = await talker.start({ thread: "t", input: "first" });
    const next = await talker.start({ thread: "t", input: "second" });
    const ending = afterClaims(store, async (claim) => {
      const run = await store.runs.load(runId);
      if (run?.status === "created") await store.commit(endRecord(run, { type: "cancelled" }, run.updatedAt + 1));
      return claim;
    });
    await using worker = open(ending, [text("answered")], true);
    expect(await worker.wait(next.runId)).toMatchObject({ status: "done", text: "answered" });
    expect(await store.runs.load(runId)).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } } });
    expect(await said(store)).toEqual(["second"]);
    expect(await store.dispatches.load(dispatchId(runId))).toMatchObject({ status: "acked" });
  });

  test("keep their order when one of them has to be tried again", async () => {
    await using store = make();
    await using talker = open(store, []);
    const first = await talker.start({ thread: "t", input: "first" });
    const second = await talker.start({ thread: "t", input: "second" });
    let failures = 0;
    const failing = afterClaims(store, async (claim) => {
      const isFailing = claim.dispatch.runId === first.runId && failures++ < 2;
      return isFailing ? { ...claim, records: DOWN } : claim;
    });
    await using worker = open(failing, [text("one"), text("two")], true);
    await expect.poll(async () => (await store.runs.load(second.runId))?.status).toBe("done");
    expect(await worker.wait(first.runId)).toMatchObject({ status: "done", text: "one" });
    expect(await worker.wait(second.runId)).toMatchObject({ status: "done", text: "two" });
    expect(await said(store)).toEqual(["first", "second"]);
  });
});
