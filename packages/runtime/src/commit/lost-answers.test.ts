import { AwakenError, messageId, messageText, runId, threadId } from "@awaken/contract";
import type { QueueStore, ThreadCommit } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { crashPoints } from "../testing/crash-points.ts";
import { soleNode } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";

const T = threadId("t");
const lost = () => new AwakenError("commit_unknown", "the answer was lost");
const user = (id: string) => [{ role: "user", content: id, id }] as const;

const pay = defineTool({ id: "pay", description: "", input: z.object({}), execute: () => "paid" });

const open = (store: QueueStore, turns: readonly ScriptStep[] = [], tools: RuntimeInit["tools"] = [pay]) =>
  createRuntime({
    providers: { p: scripted(turns) },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m" } },
    log: { warn() {}, error() {} },
    node: soleNode(crypto.randomUUID()),
    workers: false,
    tools,
    store,
  });

/** The store, and what becomes of its commits. */
function between(
  store: QueueStore,
  see: (given: ThreadCommit, commit: QueueStore["commit"]) => ReturnType<QueueStore["commit"]>,
): QueueStore {
  const transaction: QueueStore["transaction"] = (work) =>
    store.transaction((ports) => work({ ...ports, commit: (given) => see(given, (one) => ports.commit(one)) }));
  return { ...store, commit: (given) => see(given, (one) => store.commit(one)), transaction };
}

/** The first commit that is meant never reaches the store, which gets a row of somebody else instead; nobody is told. */
function losing(store: QueueStore, isMeant: (given: ThreadCommit) => boolean): QueueStore {
  let isLost = false;
  return between(store, async (given, commit) => {
    if (isLost || !isMeant(given)) return commit(given);
    isLost = true;
    const expectedMessageCount = given.messageDelta?.expectedMessageCount ?? 0;
    const messages = ["x", "y", "z"].map((id) => ({ id: messageId(`other-${id}`), role: "user" as const, content: [] }));
    await store.commit({ threadId: T, runId: runId("other"), messageDelta: { messages, expectedMessageCount } });
    throw lost();
  });
}

const said = async (store: QueueStore) => (await store.threads.loadHead(T))?.messages.map(({ message }) => messageText(message)) ?? [];

const STORES: readonly (readonly [string, () => QueueStore])[] = [
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
];

describe.each(STORES)("a commit whose answer was lost, on %s", (_, make) => {
  test.each([true, false])("a rewind is there once, behind whatever came before it (it had come through: %s)", async (isThrough) => {
    await using store = make();
    await open(store, [text("a1")]).run({ thread: "t", input: user("v1") });
    await open(store, [text("a2")]).run({ thread: "t", input: user("v2") });
    let isLost = false;
    const transaction: QueueStore["transaction"] = async (work) => {
      if (isLost) return store.transaction(work);
      isLost = true;
      if (isThrough) await store.transaction(work);
      const expectedMessageCount = await store.messages.count(T);
      const messages = ["x", "y", "z"].map((id) => ({ id: messageId(id), role: "user" as const, content: [] }));
      await store.commit({ threadId: T, runId: runId("other"), messageDelta: { messages, expectedMessageCount } });
      throw lost();
    };
    await open({ ...store, transaction }).rewind("t", { toMessageId: "v2" });
    expect((await said(store)).filter((each) => each !== "")).toEqual(["v1", "a1"]);
    const { items } = await store.messages.list(T, { visibility: "all" });
    expect(items.filter(({ message }) => message.role === "system")).toHaveLength(1);
  });

  test("a finding about a lost call that did not come through is written again, and once", async () => {
    await using store = make();
    const points = crashPoints({ at: "tool-end", nth: 1, mode: "throw" });
    const cut = open(points.commits(store, "commit", "transaction"), [toolCall("pay", {})], points.tools([pay]));
    const { id, result } = cut.stream({ thread: "t", input: "go" });
    await result.catch(() => {});
    await open(store, [text("on")]).run({ thread: "t", input: "never mind" });
    const [entry] = await store.ledger.list(runId(id), {});
    const lossy = losing(store, ({ ledger }) => (ledger?.outcomes.length ?? 0) > 0);
    await open(lossy).reconcile(entry?.idempotencyKey ?? "", { type: "done", data: "it was paid" });
    expect(await store.ledger.list(runId(id), {})).toMatchObject([{ status: "finished", result: { data: "it was paid" } }]);
    expect((await said(store)).filter((each) => each.includes("it was paid"))).toHaveLength(1);
  });

  test("one that comes through while it is written again is there once, and the run goes on from it", async () => {
    for (let at = 1; at <= 4; at++) {
      await using store = make();
      let commits = 0;
      let late: ThreadCommit | undefined;
      const slow = between(store, async (given, commit) => {
        commits += 1;
        if (commits === at) {
          late = given;
          throw lost();
        }
        if (late !== undefined) await store.commit(late);
        late = undefined;
        return commit(given);
      });
      const result = await open(slow, [toolCall("pay", {}), text("done")]).run({ thread: "t", input: "go" });
      expect([at, result]).toMatchObject([at, { status: "done", text: "done" }]);
      const { items } = await store.messages.list(T, {});
      expect([at, ...items.map(({ message }) => message.role)]).toEqual([at, "user", "assistant", "tool", "assistant"]);
      expect((await store.dispatches.list(T, {})).map(({ status }) => status)).toEqual(["acked"]);
    }
  });
});
