import { AwakenError, type RunRecord, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import { always, team } from "../builtin/delegate/team.test-support.ts";
import type { Runtime, RuntimeInit } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import { STORES } from "./stores.test-support.ts";

// A run moves to another process while the one that it waits for stays where it is: whoever has that believes that he sees its end himself.

const T = threadId("t");

/** A lead asks a clerk, whose answer takes as long as `lasting`. */
function open(store: QueueStore, name: string, lasting: Promise<void>, init: Partial<RuntimeInit> = {}): Runtime {
  const heard = always(({ role, text: said }) =>
    role === "tool" ? text(`heard ${said}`) : toolCall("agent_run_clerk", { prompt: "go" }, { id: "c1" }),
  );
  const slow = always(() => ({ items: [{ type: "until", promise: lasting }, ...text("42").items] }));
  return team(
    { lead: { turns: heard, spec: { delegates: ["clerk"], tools: [] } }, clerk: { turns: slow, spec: { tools: [] } } },
    { node: { name, isGone: () => false }, store, ...init },
  ).runtime;
}

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

const childOf = async (store: QueueStore, root: string, status: RunRecord["status"] = "running") =>
  (await store.runs.list({ rootRunId: runId(root), statuses: [status] })).items.find(({ runId: id }) => id !== root);

/** As if its lease had passed: the next one who looks has the thread, and its holder does not know. */
async function takeAway(store: QueueStore): Promise<void> {
  const [row] = await store.dispatches.list(T, { statuses: ["claimed"] });
  if (row?.status === "claimed") await store.dispatches.release(row);
}

const isOver = async (store: QueueStore, root: string) => ((await store.runs.load(runId(root)))?.status === "done" ? true : undefined);

describe.each(STORES)("a run that moves while its child does not, on %s", (_, make) => {
  test.each([0, 1])("is woken by its end, which whoever has it believes to await himself; the store fails %i times", async (fails) => {
    await using store = make();
    const lasting = Promise.withResolvers<void>();
    await using first = open(store, "first", lasting.promise);
    const { runId: root } = await first.start({ agent: "lead", thread: T, input: "go" });
    await until(() => childOf(store, root));
    let asked = 0;
    const enqueue: QueueStore["dispatches"]["enqueue"] = async (dispatch) => {
      if (asked++ < fails) throw new AwakenError("storage_io", "the cable was cut");
      return store.dispatches.enqueue(dispatch);
    };
    await using second = open({ ...store, dispatches: { ...store.dispatches, enqueue } }, "second", lasting.promise);
    await takeAway(store);
    await until(async () => ((await store.runs.load(root))?.status === "waiting" ? true : undefined));
    expect([await childOf(store, root), asked]).toMatchObject([{ status: "running" }, fails + 1]);
    lasting.resolve();
    await until(() => isOver(store, root));
    expect(await second.wait(root)).toMatchObject({ status: "done", text: "heard 42" });
  });

  test.each(["begun", "ended"])("waits for a child that somebody has %s for it just when it was looked for", async (moment) => {
    await using store = make();
    const [onItsWay, asked, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late: QueueStore = {
      ...store,
      commit: async (given) => {
        if (given.threadId === T) return store.commit(given);
        onItsWay.resolve();
        await asked.promise;
        const done = await store.commit(given);
        if (moment === "begun" || given.run?.status === "done") begun.resolve();
        return done;
      },
    };
    const early: QueueStore = {
      ...store,
      commit: async (given) => {
        if (given.threadId !== T) {
          asked.resolve();
          await begun.promise;
        }
        return store.commit(given);
      },
    };
    const lasting = Promise.withResolvers<void>();
    await using first = open(late, "first", lasting.promise);
    const { runId: root } = await first.start({ agent: "lead", thread: T, input: "go" });
    await onItsWay.promise;
    await using second = open(early, "second", lasting.promise);
    await takeAway(store);
    if (moment === "begun") await until(async () => ((await store.runs.load(root))?.status === "waiting" ? true : undefined));
    lasting.resolve();
    await until(() => isOver(store, root));
    expect(await second.wait(root)).toMatchObject({ status: "done", text: "heard 42" });
  });
});
