import { AwakenError, dispatchId, runId, threadId } from "@awaken/contract";
import type { CommitResult, QueueStore, ThreadCommit } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { always, team } from "../builtin/delegate/team.test-support.ts";
import type { Runtime, RuntimeInit } from "../create-runtime.ts";
import { CrashError, type CrashPoint, crashPoints } from "../testing/crash-points.ts";
import { soleNode } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { type Reply, wait } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

// A run that waits for others ends, or does not wait for them any more, and the process that had it so is gone before they are told.

const T = threadId("t");
const ROOT = runId("root");
const ASKED = [{ id: "ask", role: "user", content: "go" }] as const;

const asking = (name: string) =>
  always(({ role, text: said }) => (role === "tool" || said === "forget it" ? text(`read ${said}`) : toolCall(name, { prompt: "go" })));

const pay = (paid: string[]) =>
  defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => void paid.push("5") });

/** A lead asks a middle, who asks a clerk, who asks people. Whoever comes after a process that died knows that it did. */
function open(store: QueueStore, paid: string[], init: Partial<RuntimeInit> = {}): Runtime {
  return team(
    {
      lead: { turns: asking("agent_run_middle"), spec: { delegates: ["middle"], tools: [] } },
      middle: { turns: asking("agent_run_clerk"), spec: { delegates: ["clerk"], tools: [] } },
      clerk: { turns: asking("pay"), spec: { tools: ["pay"] } },
    },
    { tools: [pay(paid)], store, workers: false, node: soleNode(crypto.randomUUID()), ...init },
  ).runtime;
}

/** A tree of three that waits for people. Gives the ticket. */
async function planted(store: QueueStore): Promise<string> {
  await using first = open(store, []);
  const [ticket] = ticketsOf(await first.run({ agent: "lead", thread: T, runId: ROOT, input: ASKED }));
  return ticket?.id ?? expect.fail("nobody asks");
}

const statusOf = async (store: QueueStore) => (await store.runs.load(ROOT))?.status;

/** Nobody waits below it, and nobody is asked. */
async function expectOver(store: QueueStore, about: string): Promise<void> {
  const open = async () => store.runs.count({ rootRunId: ROOT, statuses: ["created", "running", "waiting"] });
  await expect.poll(open, { message: about, timeout: 5_000 }).toBe(0);
  expect(await store.runs.listOpenTickets(ROOT), about).toEqual([]);
}

type Verb = (runtime: Runtime) => Promise<unknown>;

/** What leaves the tree without anybody who waits for it. */
const VERBS: readonly (readonly [string, Verb])[] = [
  ["a new message begins a run instead", (runtime) => runtime.run({ agent: "lead", thread: T, input: "forget it" })],
  ["a new run interrupts", (runtime) => runtime.run({ agent: "lead", thread: T, input: "forget it", onBusy: "interrupt" })],
  ["it is told something else", (runtime) => runtime.run({ thread: T, resume: ROOT, input: "forget it" })],
  ["it is cancelled", (runtime) => runtime.cancelAndWait(ROOT)],
  ["its thread is interrupted and its run cancelled", async (runtime) => runtime.cancelAndWait(T)],
  ["it is rewound", (runtime) => runtime.rewind(T, { toMessageId: "ask" })],
];

/** Lets a process die at each commit of the verb, one after the other. Gives how many there are. */
async function dieAtEach(make: () => QueueStore, verb: Verb, at: CrashPoint): Promise<number> {
  for (let nth = 1; ; nth++) {
    await using store = make();
    await planted(store);
    const points = crashPoints({ at, nth, mode: "throw" });
    const dying = open(points.commits(store, "commit", "transaction"), []);
    await verb(dying).catch(() => {});
    const isOver = (await statusOf(store)) === "done";
    if (points.hasCrashed && isOver) {
      await using next = open(store, [], { workers: true });
      await next.recover();
      await expectOver(store, `${at} ${nth}`);
    } else if (points.hasCrashed) {
      await using next = open(store, [], { workers: true });
      await next.recover();
      // One that is told to stop just when it begins to wait does that.
      const status = () => next.cancelAndWait(ROOT).then(() => statusOf(store));
      await expect.poll(status).toBe("done");
      await expectOver(store, `${at} ${nth}, not over`);
    }
    if (!points.hasCrashed) return nth - 1;
  }
}

describe.each(STORES)("runs that nobody waits for any more, on %s", (_, make) => {
  test.each(VERBS)("are ended, wherever the process dies, when %s", async (_name, verb) => {
    for (const at of ["commit-start", "commit-end"] as const) expect(await dieAtEach(() => make(), verb, at)).toBeGreaterThan(0);
  });
});

/** Of a process that is gone behind a commit. */
function goneBehind(store: QueueStore, isLast: (commit: ThreadCommit) => boolean): QueueStore {
  let isGone = false;
  const unlessGone = <A extends readonly unknown[], R>(call: (...given: A) => Promise<R>) => {
    return async (...given: A): Promise<R> => (isGone ? Promise.reject(new CrashError("gone")) : call(...given));
  };
  const commit = unlessGone<[ThreadCommit], CommitResult>(async (given) => {
    const done = await store.commit(given);
    isGone ||= isLast(given);
    return isGone ? Promise.reject(new CrashError("gone")) : done;
  });
  const { dispatches, transaction } = store;
  return { ...store, commit, transaction: unlessGone(transaction), dispatches: { ...dispatches, nack: unlessGone(dispatches.nack) } };
}

/** Its process is gone when the innermost run waits, and before the one above does. */
async function cutOff(store: QueueStore): Promise<void> {
  const dying = open(
    goneBehind(store, ({ run }) => run?.status === "waiting"),
    [],
  );
  await dying.run({ agent: "middle", thread: T, runId: ROOT, input: ASKED }).catch(() => {});
  expect(await store.runs.list({ rootRunId: ROOT })).toMatchObject({ items: [{ status: "waiting" }] });
  expect(await statusOf(store)).toBe("running");
}

describe.each(STORES)("a run that waits below a step that was cut off, on %s", (_, make) => {
  test.each(VERBS.filter(([name]) => name !== "it is told something else"))("is ended when %s", async (_name, verb) => {
    await using store = make();
    await cutOff(store);
    await using next = open(store, []);
    await verb(next);
    expect(await statusOf(store)).toBe("done");
    await using worker = open(store, [], { workers: true });
    await worker.recover();
    await expectOver(store, "cut off");
  });
});

describe.each(STORES)("a run that is at work elsewhere when nobody waits for it any more, on %s", (_, make) => {
  test("is ended where it waits next, if nobody came to tell it", async () => {
    await using store = make();
    const [began, lasting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = defineTool({
      ...{ id: "slow", description: "", input: z.object({}), approve: () => ask("Slow?") },
      execute: async () => {
        began.resolve();
        await lasting.promise;
        return "slept";
      },
    });
    const clerk = always(({ role }) => toolCall(role === "tool" ? "pay" : "slow", {}));
    const office = (name: string, of: QueueStore) =>
      team(
        { lead: { turns: asking("agent_run_clerk"), spec: { delegates: ["clerk"], tools: [] } }, clerk: { turns: clerk } },
        { tools: [slow, pay([])], store: of, node: { name, isGone: () => false }, workers: name === "working" },
      ).runtime;
    await using working = office("working", store);
    const [ticket] = ticketsOf(await working.run({ agent: "lead", thread: T, runId: ROOT, input: "go" }));
    await working.decide(ticket?.id ?? "", { action: "approve" });
    await began.promise;
    const dying = office(
      "dying",
      goneBehind(store, ({ run }) => run?.runId === ROOT && run.status === "done"),
    );
    await dying.run({ agent: "lead", thread: T, input: "forget it" }).catch(() => {});
    expect(await statusOf(store)).toBe("done");
    lasting.resolve();
    await expectOver(store, "at work");
  });
});

/** The last try of its root went with a process that is gone. */
const bury = async (runtime: Runtime, store: QueueStore) => {
  await store.dispatches.enqueue({ dispatchId: dispatchId("woken"), threadId: T, runId: ROOT, maxAttempts: 1 });
  expect(await store.dispatches.claim(T, { consumer: "gone", leaseMs: 60_000 })).toBeDefined();
  await runtime.recover();
};

const ENDINGS: readonly (readonly [string, (runtime: Runtime, store: QueueStore) => Promise<unknown>])[] = [
  ...VERBS,
  ["it is a dead letter", bury],
];

describe.each(STORES)("a run that is at work when nobody waits for it any more, on %s", (_, make) => {
  test.each(ENDINGS)("is told to stop when %s", async (_name, end) => {
    await using store = make();
    const [began, paid] = [Promise.withResolvers<AbortSignal>(), Array.of<string>()];
    const slow = defineTool({
      ...{ id: "slow", description: "", input: z.object({}), approve: () => ask("Slow?") },
      execute: (_input, { signal }) => {
        began.resolve(signal);
        return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("slept")));
      },
    });
    const clerk = always(({ role }) => toolCall(role === "tool" ? "pay" : "slow", {}));
    await using runtime = team(
      { lead: { turns: asking("agent_run_clerk"), spec: { delegates: ["clerk"], tools: [] } }, clerk: { turns: clerk } },
      { tools: [slow, pay(paid)], store, workers: true, node: soleNode(crypto.randomUUID()) },
    ).runtime;
    const [ticket] = ticketsOf(await runtime.run({ agent: "lead", thread: T, runId: ROOT, input: ASKED }));
    await runtime.decide(ticket?.id ?? "", { action: "approve" });
    const signal = await began.promise;
    await end(runtime, store);
    await expect.poll(() => signal.aborted).toBe(true);
    await expectOver(store, "at work");
    expect(paid).toEqual([]);
  });
});

describe.each(STORES)("a run that begins to wait, on %s", (_, make) => {
  test("is ended when the one that waits for it is cancelled, and over before that is on record", async () => {
    await using store = make();
    const commit: QueueStore["commit"] = async (given) => {
      if (given.run?.status === "waiting") {
        await runtime.cancel(ROOT);
        await expect.poll(() => statusOf(store)).toBe("done");
      }
      return store.commit(given);
    };
    await using runtime = open({ ...store, commit }, [], { workers: true, cancelGraceMs: 1 });
    await runtime.run({ agent: "middle", thread: T, runId: ROOT, input: "go" });
    await expectOver(store, "begins to wait");
  });
});

/** Takes nothing up when it is gone: else it would use up the tries of its heirs. */
function dying(store: QueueStore, nth: number) {
  const points = crashPoints({ at: "commit-end", nth, mode: "throw" });
  const { claim, nack } = store.dispatches;
  const dispatches: QueueStore["dispatches"] = {
    ...store.dispatches,
    claim: async (...given) => (points.hasCrashed ? undefined : claim(...given)),
    nack: async (...given) => (points.hasCrashed ? Promise.reject(new CrashError("gone")) : nack(...given)),
  };
  return { points, runtime: open({ ...points.commits(store, "commit", "transaction"), dispatches }, [], { workers: true }) };
}

describe.each(STORES)("a tree that nobody waits for, on %s", (_, make) => {
  test("is ended to its lowest run, wherever the process dies that does so, and nobody can decide about it any more", async () => {
    for (let nth = 1; ; nth++) {
      await using store = make();
      const ticket = await planted(store);
      await using first = open(store, []);
      await first.run({ agent: "lead", thread: T, input: "forget it" });
      const heir = dying(store, nth);
      await heir.runtime.recover();
      const isOver = async () => heir.points.hasCrashed || (await store.runs.count({ rootRunId: ROOT, statuses: ["waiting"] })) === 0;
      await expect.poll(isOver).toBe(true);
      const paid: string[] = [];
      await using next = open(store, paid, { workers: true });
      await next.recover();
      await expectOver(store, `commit ${nth}`);
      await expect(next.decide(ticket, { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
      expect(paid).toEqual([]);
      await heir.runtime.close();
      if (heir.points.hasCrashed) continue;
      expect(nth).toBeGreaterThan(4);
      return;
    }
  });
});

describe.each(STORES)("a tree whose root is a dead letter, on %s", (_, make) => {
  /** Its root can be written no more, but for its end. */
  const stuck = (store: QueueStore): QueueStore => ({
    ...store,
    commit: async (given) => {
      if (given.threadId === T && given.dispatch?.type !== "dead-letter") throw new AwakenError("storage_io", "the disk is full");
      return store.commit(given);
    },
  });

  test("server-and-durability 32: ends as one", async () => {
    await using store = make();
    await planted(store);
    await store.dispatches.enqueue({ dispatchId: dispatchId("woken"), threadId: T, runId: ROOT, maxAttempts: 1 });
    await using worker = open(stuck(store), [], { workers: true });
    await worker.recover();
    await expect.poll(() => statusOf(store)).toBe("done");
    expect((await worker.deadLetters.list()).items).toMatchObject([{ runId: ROOT }]);
    await expectOver(store, "dead letter");
  });

  test("server-and-durability 32: also when somebody else finds that the last try of it is over", async () => {
    await using store = make();
    await planted(store);
    await store.dispatches.enqueue({ dispatchId: dispatchId("woken"), threadId: T, runId: ROOT, maxAttempts: 1 });
    expect(await store.dispatches.claim(T, { consumer: "gone", leaseMs: 60_000 })).toBeDefined();
    await using worker = open(store, [], { workers: true });
    await worker.recover();
    await expect.poll(() => statusOf(store)).toBe("done");
    expect(await store.runs.load(ROOT)).toMatchObject({ outcome: { termination: { code: "dead_letter" } } });
    await expectOver(store, "last try");
  });
});

/** A lead whose one call asks two at once, and waits for one of them. */
function pair(store: QueueStore, init: Partial<RuntimeInit> = {}): Runtime {
  const hire = defineTool({
    ...{ id: "hire", description: "", input: z.object({ prompt: z.string() }), idempotent: true },
    execute: async (_input, { runAgent }) => {
      const results = await Promise.all(["1", "2"].map((input) => runAgent({ agent: "clerk", input })));
      const waiting = results.find((result) => result.status === "waiting");
      return waiting === undefined ? "hired" : wait(waiting.suspension);
    },
  });
  return team(
    { lead: { turns: asking("hire"), spec: { tools: ["hire"] } }, clerk: { turns: asking("pay"), spec: { tools: ["pay"] } } },
    { tools: [pay([]), hire], store, workers: false, node: soleNode(crypto.randomUUID()), ...init },
  ).runtime;
}

describe.each(STORES)("runs that one call waits for, on %s", (_, make) => {
  test.each(VERBS)("are ended, also those that its state does not know, when %s", async (_name, verb) => {
    await using store = make();
    await using first = pair(store);
    await first.run({ agent: "lead", thread: T, runId: ROOT, input: ASKED });
    expect(await store.runs.listOpenTickets(ROOT)).toHaveLength(2);
    await verb(first);
    await using worker = pair(store, { workers: true });
    await worker.recover();
    await expectOver(store, "two");
  });
});

describe.each(STORES)("a run whose delegate is rewound on its own thread, on %s", (_, make) => {
  test("hears that it was cancelled, and goes on", async () => {
    await using store = make();
    await using worker = open(store, [], { workers: true });
    await worker.run({ agent: "middle", thread: T, runId: ROOT, input: "go" });
    const [child] = (await store.runs.list({ rootRunId: ROOT })).items;
    const thread = child?.threadId ?? expect.fail("it asks nobody");
    const [first] = (await store.messages.list(thread, {})).items;
    await worker.rewind(thread, { toMessageId: first?.message.id ?? "" });
    expect(await worker.wait(ROOT)).toMatchObject({ status: "done", text: expect.stringMatching(/^read /) });
  });
});

/** A lead whose call asks a clerk, who waits for people, and does not wait for him. */
function careless(store: QueueStore, call: () => string | Reply, init: Partial<RuntimeInit> = {}): Runtime {
  const hire = defineTool({
    ...{ id: "hire", description: "", input: z.object({ prompt: z.string() }) },
    execute: async (_input, { runAgent }): Promise<string | Reply> => {
      expect(await runAgent({ agent: "clerk", input: "1" })).toMatchObject({ status: "waiting" });
      return call();
    },
  });
  return team(
    { lead: { turns: asking("hire"), spec: { tools: ["hire"] } }, clerk: { turns: asking("pay"), spec: { tools: ["pay"] } } },
    { tools: [pay([]), hire], store, workers: false, node: soleNode(crypto.randomUUID()), ...init },
  ).runtime;
}

const CARELESS: readonly (readonly [string, () => string])[] = [
  [
    "fails",
    () => {
      throw new Error("the other one failed");
    },
  ],
  ["comes to something else", () => "never mind"],
];

describe.each(STORES)("a run that waits below a call which does not wait for it, on %s", (_, make) => {
  test.each(CARELESS)("is ended with the run whose call %s", async (_how, call) => {
    await using store = make();
    await using first = careless(store, call);
    expect(await first.run({ agent: "lead", thread: T, runId: ROOT, input: ASKED })).toMatchObject({ status: "done" });
    await using worker = careless(store, call, { workers: true });
    await worker.recover();
    await expectOver(store, "careless");
  });

  test("is ended when a new run comes instead, and the call waits for people", async () => {
    await using store = make();
    const sign = () => wait({ action: "sign", message: "Sign?" });
    await using first = careless(store, sign);
    await first.run({ agent: "lead", thread: T, runId: ROOT, input: ASKED });
    await first.run({ agent: "lead", thread: T, runId: "other", input: "forget it" });
    expect(await statusOf(store)).toBe("done");
    await using worker = careless(store, sign, { workers: true });
    await worker.recover();
    await expectOver(store, "people");
  });
});

describe.each(STORES)("a run that was put into the queue with a key of this kind, on %s", (_, make) => {
  test("goes on when it was cut off: the key is its caller's", async () => {
    await using store = make();
    await using first = open(store, []);
    await first.start({ agent: "clerk", thread: T, runId: ROOT, input: "go", dedupeKey: `abandoned:${ROOT}` });
    const owner = dying(store, 1);
    await owner.runtime.recover();
    await expect.poll(() => statusOf(store)).toBe("running");
    await using next = open(store, [], { workers: true });
    await next.recover();
    await expect.poll(async () => ["waiting", "done"].includes((await statusOf(store)) ?? "")).toBe(true);
    await owner.runtime.close();
    expect(await statusOf(store)).toBe("waiting");
  });
});
