import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsonValue, messageText, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { storedTasks } from "../../state/task-records.ts";
import { text, toolCall } from "../../testing/script.ts";
import type { ScriptStep } from "../../testing/scripted.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { ask } from "../../tool/verdict.ts";
import { ended, given, leading, newsIn, office, process, STORES } from "./tasks.test-support.ts";

const GO = { agent: "lead", thread: "t", input: "go" } as const;

const pay = defineTool({ id: "pay", description: "Pays", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

const saying = (answer: string): readonly ScriptStep[] => new Array<ScriptStep>(20).fill(() => text(answer));

/** Pays, and says what came of it. */
const paying: readonly ScriptStep[] = new Array<ScriptStep>(20).fill((request) => {
  const last = request.messages.at(-1);
  return last?.role === "tool" ? text(`it is ${messageText(last)}`) : toolCall("pay", {});
});

const REPORT = { kind: "completed", taskId: "bg_0", result: { agent: "clerk", response: "42" } };

describe.each(STORES)("an agent in the background, with %s", (_, make) => {
  test("multi-agent 66: the run that waits is woken for its end, reads it once, and tells of it", async () => {
    const { runtime, models, does } = office({ lead: leading, clerk: saying("42") }, given(make()));
    does(async ({ tasks }) => ({ id: await tasks.spawnAgent({ agent: "clerk", input: "look it up", name: "finder" }) }));
    const first = await runtime.run(GO);
    const last = await ended(runtime, first.runId);
    expect(last).toMatchObject({ status: "done", runId: first.runId });
    expect(models["clerk"]?.requests[0]?.messages.map(messageText)).toEqual(["look it up"]);
    expect(newsIn(models["lead"]?.requests.at(-1))).toEqual([REPORT]);
    await runtime.close();
  });

  test("multi-agent 44: a child that runs is written to by its id, and its model reads who wrote what", async () => {
    const gate = Promise.withResolvers<void>();
    const clerk: readonly ScriptStep[] = [
      () => ({ items: [{ type: "until", promise: gate.promise }, ...toolCall("note", {}).items] }),
      ...saying("noted"),
    ];
    const note = defineTool({ id: "note", description: "Notes", input: z.object({}), execute: () => null });
    const { runtime, models, does } = office({ lead: leading, clerk }, { ...given(make()), tools: [note] });
    does(async ({ tasks }) => {
      const id = await tasks.spawnAgent({ agent: "clerk", input: "write down" });
      while (models["clerk"]?.requests.length !== 1) await new Promise((resolve) => setTimeout(resolve, 2));
      await tasks.send(id, "hello <clerk>");
      gate.resolve();
    });
    await ended(runtime, (await runtime.run(GO)).runId);
    expect(newsIn(models["clerk"]?.requests[1])).toEqual([
      { kind: "custom", taskId: "bg_0", eventType: "agent_message", payload: { from: "lead", content: "hello <clerk>" } },
    ]);
    await runtime.close();
  });

  test("a child that asks is shown with the run that waits for it, decided, and read", async () => {
    const { runtime, models, does } = office({ lead: leading, clerk: paying }, { ...given(make()), tools: [pay] });
    does(async ({ tasks }) => void (await tasks.spawnAgent({ agent: "clerk", input: "pay" })));
    const first = await runtime.run(GO);
    let tickets = first.status === "waiting" ? first.tickets : [];
    while (tickets.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      const now = await runtime.wait(first.runId);
      tickets = now.status === "waiting" ? now.tickets : [];
    }
    expect(tickets).toMatchObject([{ toolName: "pay", agentPath: ["lead", "clerk"], rootRunId: first.runId }]);
    const decided = await runtime.decide(tickets[0]?.id ?? "", { action: "approve" });
    await decided.result;
    expect(await ended(runtime, first.runId)).toMatchObject({ status: "done" });
    expect(newsIn(models["lead"]?.requests.at(-1))).toMatchObject([{ kind: "completed", result: { response: "it is paid" } }]);
    await runtime.close();
  });

  test("multi-agent 40: cancelling the run cancels what it started; a normal end does not", async () => {
    const hanging: readonly ScriptStep[] = [{ items: [{ type: "hang" }] }];
    const { runtime, models, does } = office({ lead: leading, clerk: hanging }, given(make()));
    const code: AbortSignal[] = [];
    let child = "";
    does(async ({ tasks }) => {
      await tasks.spawn({ name: "code" }, ({ signal }) => {
        code.push(signal);
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      });
      child = await tasks.spawnAgent({ agent: "clerk", input: "wait" });
    });
    const waiting = await runtime.run(GO);
    expect(waiting).toMatchObject({ status: "waiting", waitingReason: "awaiting-tasks" });
    while (models["clerk"]?.requests.length !== 1) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(code[0]?.aborted).toBe(false);
    expect(child).toBe("bg_1");
    expect(await runtime.cancelAndWait(waiting.runId)).toBe(true);
    expect(code[0]?.aborted).toBe(true);
    expect(await runtime.wait(waiting.runId)).toMatchObject({ status: "cancelled" });
    does(async ({ tasks }) => {
      while (tasks.list().some(({ status }) => status === "running")) await new Promise((resolve) => setTimeout(resolve, 2));
    });
    const next = await runtime.run(GO);
    const seen = models["lead"]?.requests.flatMap(newsIn).map(({ taskId, kind }) => `${taskId} ${kind}`);
    expect(await ended(runtime, next.runId)).toMatchObject({ status: "done" });
    expect([...new Set(seen)].sort()).toEqual(["bg_0 cancelled", "bg_1 cancelled"]);
    await runtime.close();
  });

  test("multi-agent 39: what a cancelled run left behind starts nothing more", async () => {
    const { runtime, does } = office({ lead: leading }, given(make()));
    const said = Promise.withResolvers<string>();
    does(async ({ tasks }) => {
      await tasks.spawn({}, async ({ signal, tasks: more }) => {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        await more.spawn({}, async () => null).catch((thrown: Error) => said.resolve(thrown.message));
        said.resolve(`${more.list().length} started`);
      });
    });
    const waiting = await runtime.run(GO);
    await runtime.cancelAndWait(waiting.runId);
    expect(await said.promise).toBe(`parent run '${waiting.runId}' has already been cancelled`);
    await runtime.close();
  });

  test("multi-agent 54: a delegate returns only after a turn that saw the end of its task", async () => {
    const lead: readonly ScriptStep[] = new Array<ScriptStep>(20).fill((request) => {
      const last = request.messages.at(-1);
      return last?.role === "tool" ? text(`lead: ${messageText(last)}`) : toolCall("agent_run_clerk", { prompt: "go" });
    });
    const store = make();
    const { runtime, does } = office(
      { lead, clerk: leading },
      { ...given(store), agents: { lead: { model: "lead", delegates: ["clerk"] }, clerk: { model: "clerk" } } },
    );
    does(async ({ tasks }) => {
      await tasks.spawn({}, async () => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return "late";
      });
    });
    const first = await runtime.run(GO);
    const last = await ended(runtime, first.runId);
    expect(last).toMatchObject({ status: "done" });
    expect(last.text).toContain("lead: read: <background-task-event");
    expect(last.text).toContain("late");
    await runtime.close();
  });

  test("multi-agent 55: news for a run that waits for a decision are kept, and read when that is made", async () => {
    const lead: readonly ScriptStep[] = new Array<ScriptStep>(20).fill((request) => {
      const calls = request.messages.filter(({ role }) => role === "tool").length;
      if (calls === 0) return toolCall("work", {});
      return calls === 1 ? toolCall("pay", {}) : text("over");
    });
    const { runtime, models, does } = office({ lead }, { ...given(make()), tools: [pay] });
    const gate = Promise.withResolvers<string>();
    let over: Promise<unknown> = Promise.resolve();
    does(async ({ tasks }) => {
      over = tasks.settled(await tasks.spawn({}, async () => gate.promise));
    });
    const waiting = await runtime.run(GO);
    expect(waiting).toMatchObject({ status: "waiting", waitingReason: "suspended" });
    gate.resolve("meanwhile");
    await over;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(await runtime.wait(waiting.runId)).toMatchObject({ status: "waiting", waitingReason: "suspended" });
    const decided = await runtime.decide(waiting.status === "waiting" ? (waiting.tickets[0]?.id ?? "") : "", { action: "approve" });
    expect(await decided.result).toMatchObject({ status: "done", text: "over" });
    const read = models["lead"]?.requests.map((request) => newsIn(request).length);
    expect(read).toEqual([0, 0, 1]);
    await runtime.close();
  });
});

const DURABLE: readonly (readonly [string, () => QueueStore])[] = [
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
];

test("multi-agent 41: a runtime that opens the file of one that was killed goes on with what waited for its code, unasked", async () => {
  const folder = mkdtempSync(join(tmpdir(), "awaken-tasks-"));
  const file = join(folder, "awaken.db");
  const first = sqliteStore(file);
  const before = office({ lead: leading }, { ...process(first), workers: false });
  before.does(async ({ tasks }) => void (await tasks.spawn({}, () => new Promise(() => {}))));
  const waiting = await before.runtime.run(GO);
  expect(waiting).toMatchObject({ status: "waiting", waitingReason: "awaiting-tasks" });

  const second = sqliteStore(file);
  const after = office({ lead: leading }, process(second));
  expect(await ended(after.runtime, waiting.runId)).toMatchObject({ status: "done", runId: waiting.runId });
  expect(newsIn(after.models["lead"]?.requests.at(-1))).toMatchObject([{ kind: "failed", taskId: "bg_0" }]);
  await after.runtime.close();
  await before.runtime.close();
  await second.close();
  await first.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.each(DURABLE)("tasks over restarts, on %s", (_, make) => {
  test("multi-agent 33, 41: code of a process that is gone is failed for the next run; its number is not used again", async () => {
    const store = make();
    const before = office({ lead: leading }, { ...process(store), workers: false });
    before.does(async ({ tasks }) => {
      for (let n = 0; n < 11; n++) await tasks.spawn({}, () => new Promise(() => {}));
    });
    const waiting = await before.runtime.run(GO);
    expect(waiting).toMatchObject({ status: "waiting", waitingReason: "awaiting-tasks" });
    await before.runtime.close({ handOver: true });

    const after = office({ lead: leading }, { ...process(store), workers: false });
    const ids: JsonValue[] = [];
    after.does(async ({ tasks }) => void ids.push(await tasks.spawn({}, async () => "next")));
    const run = await after.runtime.run(GO);
    const news = newsIn(after.models["lead"]?.requests[0]);
    expect(news).toHaveLength(11);
    await after.runtime.run(GO);
    expect(news[0]).toEqual({ kind: "failed", taskId: "bg_0", error: "task orphaned: runtime restarted while running" });
    expect(ids).toEqual(["bg_11"]);
    expect(run.runId).toBe(waiting.runId);
    const stored = storedTasks((await store.threads.loadHead(threadId("t")))?.state);
    expect(stored.slice(0, 11).map(({ status, completedAt }) => [status, typeof completedAt])).toEqual(
      new Array(11).fill(["failed", "number"]),
    );
    await after.runtime.close();
  });

  test("multi-agent 41: a run that waits for code of a process that is gone is woken by the next one, and reads that it is lost", async () => {
    const store = make();
    const before = office({ lead: leading }, { ...process(store), workers: false });
    before.does(async ({ tasks }) => {
      await tasks.spawn({ name: "slow" }, () => new Promise(() => {}));
      await tasks.spawn({ name: "quick" }, async () => "here");
    });
    const waiting = await before.runtime.run(GO);
    while ((await before.runtime.wait(waiting.runId)).status !== "waiting") await new Promise((resolve) => setTimeout(resolve, 2));

    // Somebody who cannot tell that the process is gone leaves it alone.
    const beside = office({ lead: leading }, { store, node: { name: "beside", isGone: () => false }, workers: false });
    await beside.runtime.recover();
    expect(await store.dispatches.list(threadId("t"), { statuses: ["queued", "claimed"] })).toEqual([]);
    await beside.runtime.close();

    const after = office({ lead: leading }, process(store));
    await after.runtime.recover();
    expect(await ended(after.runtime, waiting.runId)).toMatchObject({ status: "done", runId: waiting.runId });
    const news = newsIn(after.models["lead"]?.requests.at(-1));
    expect(news.filter(({ taskId }) => taskId === "bg_0")).toEqual([
      { kind: "failed", taskId: "bg_0", error: "task orphaned: runtime restarted while running" },
    ]);
    await after.runtime.close();
    await before.runtime.close();
  });

  test("multi-agent 41: the news are on record: a process of another machine, which cannot tell what is lost, goes on with them", async () => {
    const store = make();
    const before = office({ lead: leading }, { ...process(store), workers: false });
    before.does(async ({ tasks }) => {
      for (const name of ["a", "b"]) await tasks.spawn({ name }, () => new Promise(() => {}));
    });
    const waiting = await before.runtime.run(GO);
    // Those that see that it is gone execute nothing; both of them look.
    const seers = [1, 2].map(() => office({ lead: leading }, { ...process(store), workers: false }));
    for (const { runtime } of seers) await runtime.recover();

    const elsewhere = office({ lead: leading }, { store, node: { name: "elsewhere", isGone: () => false } });
    await expect.poll(async () => (await store.runs.load(runId(waiting.runId)))?.status).toBe("done");
    expect(newsIn(elsewhere.models["lead"]?.requests.at(-1))).toEqual(
      ["bg_0", "bg_1"].map((taskId) => ({ kind: "failed", taskId, error: "task orphaned: runtime restarted while running" })),
    );
    const stored = storedTasks((await store.threads.loadHead(threadId("t")))?.state);
    expect(stored.map(({ status }) => status)).toEqual(["failed", "failed"]);
    for (const { runtime } of [elsewhere, ...seers, before]) await runtime.close();
  });

  test("an agent in the background goes on in another process, and the run that waits for it is woken there", async () => {
    const store = make();
    const before = office({ lead: leading, clerk: saying("42") }, { ...process(store), workers: false });
    before.does(async ({ tasks }) => void (await tasks.spawnAgent({ agent: "clerk", input: "look" })));
    const waiting = await before.runtime.run(GO);
    await before.runtime.close();
    const after = office({ lead: leading, clerk: saying("42") }, process(store));
    expect(await ended(after.runtime, waiting.runId)).toMatchObject({ status: "done", runId: waiting.runId });
    expect(newsIn(after.models["lead"]?.requests.at(-1))).toEqual([REPORT]);
    expect(await store.runs.count({ rootRunId: runId(waiting.runId), statuses: ["created", "running", "waiting"] })).toBe(0);
    await after.runtime.close();
  });

  test("multi-agent 42: a second run of the thread knows the tasks of the first, and adds to them", async () => {
    const store = make();
    const { runtime, does } = office({ lead: leading }, { ...process(store) });
    const gate = Promise.withResolvers<string>();
    does(async ({ tasks }) => void (await tasks.spawn({ name: "old" }, async () => gate.promise)));
    const first = await runtime.run(GO);
    const seen: unknown[] = [];
    does(async ({ tasks }) => {
      await tasks.spawnAgent({ name: "new", body: async ({ inbox, signal }) => [await inbox.receive(signal)] });
      seen.push(tasks.list().map(({ name, status }) => `${name} ${status}`));
      await tasks.send("bg_1", "hello");
      seen.push((await tasks.settled("bg_1")).status);
    });
    await runtime.run(GO);
    expect(seen).toEqual([["old running", "new running"], "completed"]);
    gate.resolve("x");
    await ended(runtime, first.runId);
    const stored = storedTasks((await store.threads.loadHead(threadId("t")))?.state);
    expect(stored.map(({ name, status }) => `${name} ${status}`)).toEqual(["old completed", "new completed"]);
    await runtime.close();
  });
});
