import { type JsonObject, messageText } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { text, toolCall } from "../../testing/script.ts";
import type { ScriptStep } from "../../testing/scripted.ts";
import type { TaskSummary } from "../../tool/tasks.ts";
import { always } from "../delegate/team.test-support.ts";
import { backgroundTasks } from "./background-tasks.ts";
import { ended, given, newsIn, office, STORES, works } from "./tasks.test-support.ts";

const lead = always(({ role, text: said }) => (role === "tool" ? text(said) : toolCall("agent_run_clerk", { prompt: "go" })));

/** Works twice, and is done when it has read of both. */
const clerk: readonly ScriptStep[] = new Array<ScriptStep>(20).fill(({ messages }) => {
  const calls = messages.filter(({ role }) => role === "tool").length;
  return calls < 2 ? works : text("over");
});

describe.each(STORES)("background work of a delegate, with %s", (_, make) => {
  test.each([
    ["with the plugin", ["background_tasks"], ["cancel_task", "send_message", "work"]],
    ["without it", [], ["work"]],
  ])("multi-agent 61: is kept in one place, %s", async (_name, plugins, offered) => {
    const { runtime, models, does } = office(
      { lead, clerk },
      {
        ...given(make()),
        plugins: [backgroundTasks],
        agents: { lead: { model: "lead", delegates: ["clerk"], tools: [] }, clerk: { model: "clerk", plugins } },
      },
    );
    const seen: string[] = [];
    does(async ({ tasks }) => {
      const id = await tasks.spawn({}, async () => "done");
      seen.push(
        tasks
          .list()
          .map(({ taskId }) => taskId)
          .join(" "),
      );
      await tasks.settled(id);
    });
    const last = await ended(runtime, (await runtime.run({ agent: "lead", thread: "t", input: "go" })).runId);
    expect(last).toMatchObject({ status: "done", text: "over" });
    expect(seen).toEqual(["bg_0", "bg_0 bg_1"]);
    expect(newsIn(models["clerk"]?.requests.at(-1)).map(({ taskId, kind }) => `${taskId} ${kind}`)).toEqual([
      "bg_0 completed",
      "bg_1 completed",
    ]);
    expect(models["clerk"]?.requests[0]?.tools.map(({ id }) => id).sort()).toEqual(offered);
    await runtime.close();
  });
});

const untilAborted = ({ signal }: { readonly signal: AbortSignal }): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

/** Works, then calls the tool with each of these, and says what it was told. */
const calling = (...inputs: readonly JsonObject[]): readonly ScriptStep[] =>
  new Array<ScriptStep>(20).fill(({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool");
    if (results.length === 0) return works;
    const input = inputs[results.length - 1];
    return input === undefined ? text(results.slice(1).map(messageText).join("\n")) : toolCall("cancel_task", input);
  });

const child = (name: string) => ({ target: { relation: "child", name } });

const GO = { agent: "lead", thread: "t", input: "go" } as const;

const AGENTS = { lead: { model: "lead", tools: ["work", "cancel_task"] }, clerk: { model: "clerk", tools: [] } };

describe.each(STORES)("cancel_task, with %s", (_, make) => {
  test("stops a task by name or id, with all that it started; what is unknown, or another one's, is not found", async () => {
    const { runtime, models, does } = office(
      { lead: calling(child("nobody"), child("inner"), child("outer"), child("bg_2"), {}), clerk: [{ items: [{ type: "hang" }] }] },
      { ...given(make()), agents: AGENTS },
    );
    does(async ({ tasks }) => {
      const ready = Promise.withResolvers<void>();
      await tasks.spawn({ name: "outer" }, async (task) => {
        await task.tasks.spawn({ name: "inner" }, untilAborted);
        ready.resolve();
        return untilAborted(task);
      });
      await ready.promise;
      await tasks.spawnAgent({ agent: "clerk", input: "x", name: "finder" });
    });
    const last = await ended(runtime, (await runtime.run(GO)).runId);
    expect(last.status).toBe("done");
    const told = models["lead"]?.requests.flatMap(({ messages }) => messages.filter(({ role }) => role === "tool").map(messageText)) ?? [];
    const receipts = [...new Set(told)].slice(1);
    expect(receipts.slice(0, 4).map((receipt) => JSON.parse(receipt))).toEqual([
      { status: "failed", root_task_id: "nobody", cancelled_count: 0, error: "task_not_found" },
      { status: "failed", root_task_id: "inner", cancelled_count: 0, error: "task_not_found" },
      { status: "accepted", root_task_id: "bg_0", cancelled_count: 2 },
      { status: "accepted", root_task_id: "bg_2", cancelled_count: 1 },
    ]);
    expect(receipts[4]).toContain("missing 'target'");
    const news = newsIn(models["lead"]?.requests.at(-1)).map(({ taskId, kind }) => `${taskId} ${kind}`);
    expect(news.sort()).toEqual(["bg_0 cancelled", "bg_1 cancelled", "bg_2 cancelled"]);
    await runtime.close();
  });

  test("stops the run itself, with all that it started", async () => {
    const { runtime, does } = office(
      { lead: calling({ target: { relation: "self" } }), clerk: [{ items: [{ type: "hang" }] }] },
      { ...given(make()), agents: AGENTS },
    );
    const code = Promise.withResolvers<AbortSignal>();
    let agent: Promise<TaskSummary> | undefined;
    does(async ({ tasks }) => {
      await tasks.spawn({}, (task) => {
        code.resolve(task.signal);
        return untilAborted(task);
      });
      agent = tasks.settled(await tasks.spawnAgent({ agent: "clerk", input: "x" }));
    });
    expect(await runtime.run(GO)).toMatchObject({ status: "cancelled" });
    expect((await code.promise).aborted).toBe(true);
    expect(await agent).toMatchObject({ status: "cancelled" });
    await runtime.close();
  });

  test("an agent in the background can stop itself, whatever its tools are: its task is cancelled, and its owner reads so", async () => {
    const { runtime, models, does } = office(
      {
        lead: always(({ role, text: said }) => (role === "user" && said === "go" ? works : text("waiting"))),
        clerk: [toolCall("cancel_task", { target: { relation: "self" } })],
      },
      { ...given(make()), agents: AGENTS },
    );
    does(async ({ tasks }) => void (await tasks.spawnAgent({ agent: "clerk", input: "x" })));
    const last = await ended(runtime, (await runtime.run(GO)).runId);
    expect(last).toMatchObject({ status: "done" });
    expect(newsIn(models["lead"]?.requests.at(-1))).toEqual([{ kind: "cancelled", taskId: "bg_0" }]);
    await runtime.close();
  });
});
