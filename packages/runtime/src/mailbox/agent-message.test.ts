import { DEFAULT_SCOPE, messageText, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { openBase } from "../runtime-parts.ts";
import { openStore } from "../runtime-with-store.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import { sendAgentMessage } from "./agent-message.ts";
import { plainNode } from "./node.ts";
import { STORES } from "./stores.test-support.ts";

const T = threadId("theirs");

/** A process, and the door that tools have to its mailbox. */
const HEARD: readonly ScriptStep[] = Array.from({ length: 4 }, () => text("heard"));

const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

async function open(store: QueueStore, workers: boolean, turns = HEARD) {
  const init: RuntimeInit = {
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" }, scribe: { model: "fast" } },
    tools: [pay],
    log: { warn() {}, error() {} },
    store,
    workers,
  };
  const runtime = createRuntime(init);
  const node = plainNode("other");
  const base = openBase({ ...init, workers: false }, runtime.resolver, node, new AbortController().signal);
  const tenant = (openStore(base, store).mailbox ?? expect.fail()).tenant(DEFAULT_SCOPE);
  return { runtime, tenant };
}

const MESSAGE = { messageId: "m1", recipientThreadId: "theirs", recipientAgentId: "scribe", senderAgentId: "boss", text: "note it" };

describe.each(STORES)("a message from one agent to another, on %s", (_, make) => {
  test("server-and-durability 46: the same one delivered twice, and at one moment, appends one message and one run", async () => {
    await using store = make();
    const { runtime, tenant } = await open(store, false);
    const ids = await Promise.all(Array.from({ length: 6 }, () => sendAgentMessage(tenant, MESSAGE)));
    expect(new Set(ids)).toEqual(new Set(["m1"]));
    expect((await store.pending.load(T)).entries).toMatchObject([{ pendingId: "m1", message: { metadata: { senderAgentId: "boss" } } }]);
    expect((await store.dispatches.list(T, {})).map(({ dispatchId, runId: id }) => [dispatchId, id])).toEqual([["m1", "durable-msg-m1"]]);
    const worker = await open(store, true);
    expect(await worker.runtime.wait("durable-msg-m1")).toMatchObject({ status: "done", text: "heard" });
    expect(await sendAgentMessage(tenant, MESSAGE)).toBe("m1");
    expect(await store.runs.count({})).toBe(1);
    const run = await store.runs.load(runId("durable-msg-m1"));
    expect(run).toMatchObject({ agentId: "scribe", activation: { trace: { origin: "internal" } } });
    const { items } = await store.messages.list(T, {});
    expect(items.map(({ message }) => messageText(message))).toEqual(["note it", "heard"]);
    expect(items[0]).toMatchObject({ message: { id: "m1", metadata: { senderAgentId: "boss" } } });
    await worker.runtime.close();
    await runtime.close();
  });

  test("where a run waits for a decision it withdraws none: the run reads it when it goes on, once", async () => {
    await using store = make();
    const { runtime, tenant } = await open(store, true, [toolCall("pay", {}), text("paid it"), text("noted")]);
    const waiting = await runtime.run({ agent: "scribe", thread: "theirs", input: "pay", runId: "r" });
    const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
    expect(await sendAgentMessage(tenant, MESSAGE)).toBe("m1");
    expect(await sendAgentMessage(tenant, MESSAGE)).toBe("m1");
    expect(await store.runs.load(runId("r"))).toMatchObject({ status: "waiting", waiting: { tickets: [{ id: ticket?.id }] } });
    expect((await store.pending.load(T)).entries).toMatchObject([{ pendingId: "m1", deliveryMode: { targetRunId: "r" } }]);
    expect(await store.runs.count({})).toBe(1);
    const decided = await runtime.decide(ticket?.id ?? "", { action: "approve" });
    expect(await decided.result).toMatchObject({ status: "done", text: "noted" });
    expect(await sendAgentMessage(tenant, MESSAGE)).toBe("m1");
    const { items } = await store.messages.list(T, { visibility: "external" });
    expect(items.map(({ message }) => messageText(message)).filter((said) => said === "note it")).toHaveLength(1);
    expect((await store.pending.load(T)).entries).toEqual([]);
    await runtime.close();
  });

  test("without an agent it is for the one that the thread is with; blank ids are refused", async () => {
    await using store = make();
    const { runtime, tenant } = await open(store, false);
    await runtime.run({ agent: "scribe", thread: "theirs", input: "hello" });
    await sendAgentMessage(tenant, { ...MESSAGE, recipientAgentId: "" });
    expect(await store.runs.load(runId("durable-msg-m1"))).toMatchObject({ agentId: "scribe", status: "created" });
    for (const bad of [{ messageId: " " }, { recipientThreadId: "" }])
      await expect(sendAgentMessage(tenant, { ...MESSAGE, ...bad })).rejects.toMatchObject({ code: "invalid_id" });
    await runtime.close();
  });
});
