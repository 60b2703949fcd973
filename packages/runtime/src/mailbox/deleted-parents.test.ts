import { type RunRecord, runId, threadId } from "@awaken/contract";
import type { DispatchRecord, QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { always, team } from "../builtin/delegate/team.test-support.ts";
import type { RuntimeInit } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { STORES } from "./stores.test-support.ts";

// A thread is deleted while runs below it are not over: nobody waits for them any more.

const T = threadId("t");

const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

const asking = (name: string) =>
  always(({ role, text: said }) => (role === "tool" ? text(said) : toolCall(name, { prompt: "go" }, { id: "c1" })));

/** A lead asks a middle, who asks a clerk, who asks people. */
function open(store: QueueStore, init: Partial<RuntimeInit> = {}) {
  return team(
    {
      lead: { turns: asking("agent_run_middle"), spec: { delegates: ["middle"], tools: [] } },
      middle: { turns: asking("agent_run_clerk"), spec: { delegates: ["clerk"], tools: [] } },
      clerk: { turns: asking("pay"), spec: { tools: ["pay"] } },
    },
    { tools: [pay], store, ...init },
  ).runtime;
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const OPEN: readonly RunRecord["status"][] = ["created", "running", "waiting"];

const untilOver = (store: QueueStore) => until(async () => ((await store.runs.count({ statuses: OPEN })) === 0 ? true : undefined));

/** Nothing is left to do, nothing was given up, and the thread has not come back. */
async function expectNothing(store: QueueStore, thread = T): Promise<void> {
  const rows = async (...statuses: DispatchRecord["status"][]) => (await store.dispatches.listAll({ statuses })).items;
  await until(async () => ((await rows("queued", "claimed")).length === 0 ? true : undefined));
  expect(await rows("dead-letter")).toEqual([]);
  expect((await store.pending.load(thread)).entries).toEqual([]);
  expect(await store.threads.load(thread)).toBeUndefined();
}

describe.each(STORES)("a thread that is deleted, on %s", (_, make) => {
  test("ends what its run waited for when that goes on: a child of nobody is cancelled, whatever was decided below it", async () => {
    await using store = make();
    const warned: string[] = [];
    const warn = (said: string) => void warned.push(said);
    await using runtime = open(store, { log: { warn, error: warn } });
    const { runId: root } = await runtime.start({ agent: "lead", thread: T, input: "go" });
    const [ticket] = ticketsOf(await runtime.wait(root));
    const family = (await store.runs.list({ rootRunId: runId(root) })).items;
    await store.threads.delete(T, "detach");
    await runtime.decide(ticket?.id ?? "", { action: "approve" });
    await untilOver(store);
    const ends = await Promise.all(family.filter((run) => run.runId !== root).map(({ runId: id }) => runtime.wait(id)));
    expect(ends.map(({ status }) => status).sort()).toEqual(["cancelled", "done"]);
    await expectNothing(store);
    expect(warned).toEqual([]);
  });

  test("ends one whose ticket is decided without following it", async () => {
    await using store = make();
    await using runtime = open(store);
    const { runId: root } = await runtime.start({ agent: "middle", thread: T, input: "go" });
    const [ticket] = ticketsOf(await runtime.wait(root));
    await store.threads.delete(T, "detach");
    await expect(runtime.decide(ticket?.id ?? "", { action: "approve" })).rejects.toMatchObject({ code: "ticket_not_open" });
    await untilOver(store);
    await expectNothing(store);
  });

  test("leaves a child alone that is at work: it comes to its end, and wakes nobody", async () => {
    await using store = make();
    const [began, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = defineTool({
      ...{ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?") },
      execute: async () => {
        began.resolve();
        await end.promise;
        return "paid";
      },
    });
    await using runtime = open(store, { tools: [slow] });
    const { runId: root } = await runtime.start({ agent: "middle", thread: T, input: "go" });
    const [ticket] = ticketsOf(await runtime.wait(root));
    await runtime.decide(ticket?.id ?? "", { action: "approve" });
    await began.promise;
    await store.threads.delete(T, "detach");
    end.resolve();
    await untilOver(store);
    expect(await runtime.wait(ticket?.runId ?? "")).toMatchObject({ status: "done", text: "paid" });
    await expectNothing(store);
  });

  test.each(["agent", "code"])("does not come back for news of %s that was at work in its background", async (kind) => {
    await using store = make();
    const { lead, models, root, end } = await hiring(store, kind);
    await store.threads.delete(T, "detach");
    const asked = models["lead"]?.requests.length;
    end();
    await untilOver(store);
    if (kind === "code") await new Promise((resolve) => setTimeout(resolve, 100));
    await expectNothing(store);
    expect(models["lead"]?.requests.length).toBe(asked);
    expect(await store.runs.load(root)).toBeUndefined();
    await lead.close();
  });

  test.each(["agent", "code"])(
    "and is made again is another one: it hears nothing of %s that was at work in its background before",
    async (kind) => {
      await using store = make();
      const { lead, root, end } = await hiring(store, kind);
      await store.threads.delete(T, "detach");
      expect(await lead.run({ agent: "clerk", thread: T, input: "stop" })).toMatchObject({ status: "done" });
      end();
      await untilOver(store);
      if (kind === "code") await new Promise((resolve) => setTimeout(resolve, 100));
      expect((await store.dispatches.listAll({ statuses: ["queued", "claimed", "dead-letter"] })).items).toEqual([]);
      expect((await store.pending.load(T)).entries).toEqual([]);
      const { items } = await store.messages.list(T, { visibility: "all" });
      expect(items.filter(({ message }) => message.metadata?.task !== undefined)).toEqual([]);
      expect(await store.runs.load(root)).toBeUndefined();
      await lead.close();
    },
  );
});

/** A lead waits for what it has hired, which is at work until `end`. */
async function hiring(store: QueueStore, kind: string) {
  const [began, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const work = async () => {
    began.resolve();
    await ended.promise;
    return "found";
  };
  const hire = defineTool({
    ...{ id: "hire", description: "", input: z.object({}) },
    execute: async (_input, { tasks }) => {
      await (kind === "agent" ? tasks.spawnAgent({ agent: "clerk", input: "go" }) : tasks.spawn({ name: "work" }, work));
      return "hired";
    },
  });
  const pay = defineTool({ id: "pay", description: "", input: z.object({}), execute: work });
  const clerk = always(({ role, text: said }) => (role === "tool" || said === "stop" ? text(said) : toolCall("pay", {}, { id: "c1" })));
  const { runtime: lead, models } = team(
    { lead: { turns: asking("hire"), spec: { tools: ["hire"] } }, clerk: { turns: clerk, spec: { tools: ["pay"] } } },
    { tools: [hire, pay], store },
  );
  const { runId: root } = await lead.start({ agent: "lead", thread: T, input: "go" });
  await began.promise;
  await until(async () => ((await store.runs.load(root))?.status === "waiting" ? true : undefined));
  return { lead, models, root, end: () => ended.resolve() };
}
