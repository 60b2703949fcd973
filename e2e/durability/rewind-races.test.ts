import { messageText, type Provider, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, defineTool, type RuntimeInit } from "@awaken/runtime";
import { crashPoints, scripted, text, toolCall } from "@awaken/runtime/testing";
import { beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { onEveryStore, openProcess, prompt, seeing } from "./support/every-store.ts";

const user = (id: string) => [{ role: "user", content: id, id }] as const;

const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
const send = defineTool({ id: "send", description: "", input: z.object({}), execute: () => "sent" });

const open = (store: QueueStore, provider: Provider, init: Partial<RuntimeInit> = {}) =>
  openProcess(provider, { tools: [pay, send], store, ...init });

onEveryStore("rewind beside others", (current) => {
  let store: QueueStore;
  beforeAll(() => {
    store = current();
  });

  const view = async (thread: string) =>
    (await store.threads.loadHead(threadId(thread)))?.messages.map(({ message }) => messageText(message)) ?? [];
  const statuses = async (...ids: readonly string[]) => Promise.all(ids.map(async (id) => (await store.runs.load(runId(id)))?.status));

  test("a run of another process that had read the thread before reads it again, and answers what is there", async () => {
    const here = open(store, scripted([text("a1"), text("a2")]));
    await here.run({ thread: "read", input: user("r1") });
    await here.run({ thread: "read", input: user("r2") });
    let isRewound = false;
    const late = seeing(store, async ({ isNewRun }) => {
      if (isRewound || isNewRun !== true) return;
      isRewound = true;
      await here.rewind("read", { toMessageId: "r2" });
    });
    const model = scripted([text("a3")]);
    expect(await open(late, model).run({ thread: "read", runId: "late", input: user("r3") })).toMatchObject({ status: "done", text: "a3" });
    expect(prompt(model)).toEqual(["user: r1", "assistant: a1", "user: r3"]);
    expect(await view("read")).toEqual(["r1", "a1", "r3", "a3"]);
  });

  test("what comes in while it is read goes too, and is named", async () => {
    const here = open(store, scripted([text("a1"), text("a2"), text("a3")]));
    await here.run({ thread: "meanwhile", input: user("m1") });
    await here.run({ thread: "meanwhile", input: user("m2") });
    let hasCome = false;
    // The run comes between the look at the thread and the transaction.
    const transaction: QueueStore["transaction"] = async (work) => {
      if (!hasCome) {
        hasCome = true;
        await open(store, scripted([text("a3")])).run({ thread: "meanwhile", input: user("m3") });
      }
      return store.transaction(work);
    };
    const { taken } = await open({ ...store, transaction }, scripted([])).rewind("meanwhile", { toMessageId: "m2" });
    expect(taken.map((message) => messageText(message))).toEqual(["m2", "a2", "m3", "a3"]);
    expect(await view("meanwhile")).toEqual(["m1", "a1"]);
  });

  /** One run that waits, and a later one that died as soon as it was there. */
  async function twoOpen(thread: string): Promise<readonly [string, string]> {
    const [waits, died] = [`${thread}-waits`, `${thread}-died`];
    await open(store, scripted([toolCall("pay", {})])).run({ thread, runId: waits, input: user(`${thread}-ask`) });
    const points = crashPoints({ at: "commit-end", nth: 1, mode: "throw" });
    const dying = open(points.commits(store, "commit", "transaction"), scripted([]));
    const note = [{ role: "system", content: "a note", id: `${thread}-note` }] as const;
    await dying.stream({ thread, runId: died, input: note }).result.catch(() => {});
    expect(await statuses(waits, died)).toEqual(["waiting", "running"]);
    return [waits, died];
  }

  test("two open runs are ended with it, all or nothing: a process that dies between leaves both, and what was said", async () => {
    const ids = await twoOpen("two");
    const said = await view("two");
    let commits = 0;
    const transaction: QueueStore["transaction"] = (work) => {
      commits = 0;
      return seeing(store, async () => {
        commits += 1;
        if (commits === 2) throw new Error("the process died");
      }).transaction(work);
    };
    const dying = { ...store, transaction };
    await expect(open(dying, scripted([])).rewind("two", { toMessageId: "two-ask" })).rejects.toThrow("the process died");
    expect(commits).toBe(2);
    expect([await statuses(...ids), await view("two")]).toEqual([["waiting", "running"], said]);
    const { cancelled } = await open(store, scripted([])).rewind("two", { toMessageId: "two-ask" });
    expect([...cancelled].sort()).toEqual([...ids].sort());
    expect([await statuses(...ids), await view("two")]).toEqual([["done", "done"], []]);
    const model = scripted([text("fresh")]);
    expect(await open(store, model).run({ thread: "two", input: user("again") })).toMatchObject({ status: "done", text: "fresh" });
    expect(prompt(model)).toEqual(["user: again"]);
  });

  test("what waits in the queue is answered afterwards, on what is left", async () => {
    const here = open(store, scripted([text("q-a1"), toolCall("pay", {})]));
    await here.run({ thread: "queue", input: user("q1") });
    const waiting = await here.run({ thread: "queue", input: user("q2") });
    expect(waiting.status).toBe("waiting");
    // For the run that waits, and for one of its own.
    const joined = await here.start({ thread: "queue", input: user("q3") });
    expect(joined.runId).toBe(waiting.runId);
    const own = await here.start({ thread: "queue", runId: "queue-own", input: user("q4") });
    await here.rewind("queue", { toMessageId: "q2" });
    expect(await statuses(waiting.runId)).toEqual(["done"]);
    const model = scripted([text("one"), text("two")]);
    await using worker = open(store, model, { workers: true });
    await worker.recover();
    await worker.wait(own.runId);
    await expect.poll(async () => (await view("queue")).length).toBe(6);
    const left = await view("queue");
    expect(left.slice(0, 2)).toEqual(["q1", "q-a1"]);
    expect([...left.slice(2)].sort()).toEqual(["one", "q3", "q4", "two"]);
    expect((await store.dispatches.list(threadId("queue"), {})).filter(({ status }) => status === "dead-letter")).toEqual([]);
    for (const request of model.requests) expect(request.messages.map((message) => messageText(message))).not.toContain("q2");
  });
});
