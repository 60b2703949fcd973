import { messageText, threadId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { AgentMessageRequest, MessageSink } from "../../loop/message-sink.ts";
import { failedMessages, messageOutbox } from "../../state/message-outbox.ts";
import { crashPoints } from "../../testing/crash-points.ts";
import { text, toolCall } from "../../testing/script.ts";
import type { ScriptStep } from "../../testing/scripted.ts";
import { defineTool } from "../../tool/define-tool.ts";
import type { MessageReceipt, MessageRecipient } from "../../tool/messages.ts";
import { ask } from "../../tool/verdict.ts";
import { ended, given, leading, office, process, STORES } from "../background/tasks.test-support.ts";
import { sendMessageTool } from "./send-message-tool.ts";

const GO = { agent: "lead", thread: "t", input: "go" } as const;

const prepare = async (input: Parameters<typeof sendMessageTool.prepare>[0]): Promise<string> => {
  const checked = await sendMessageTool.prepare(input);
  return checked.type === "invalid" ? checked.message : "valid";
};

/** A sink that keeps what it is given. */
function recorded(answer: (count: number) => string = (count) => `durable-${count}`) {
  const requests: AgentMessageRequest[] = [];
  const sink: MessageSink = async (request) => {
    requests.push(request);
    return answer(requests.length);
  };
  return { requests, sink };
}

describe("the input of send_message", () => {
  test("multi-agent 68: its schema is that of the document, `oneOf` included", () => {
    expect(sendMessageTool.descriptor.id).toBe("send_message");
    expect(sendMessageTool.descriptor.parameters).toEqual({
      type: "object",
      properties: {
        to: {
          oneOf: [
            { type: "object", properties: { relation: { const: "parent" } }, required: ["relation"] },
            {
              type: "object",
              properties: { relation: { const: "child" }, name: { type: "string", description: "Task name or ID" } },
              required: ["relation", "name"],
            },
            {
              type: "object",
              properties: { relation: { const: "agent" }, thread_id: { type: "string" }, agent_id: { type: "string" } },
              required: ["relation", "thread_id"],
            },
          ],
        },
        message: { type: "string" },
      },
      required: ["to", "message"],
    });
  });

  test("multi-agent 49: seed 003: what is missing is said; the three shapes pass", async () => {
    expect(await prepare({ message: "hi" })).toContain("missing 'to'");
    expect(await prepare({ to: {}, message: "hi" })).toContain("missing 'to.relation'");
    expect(await prepare({ to: { relation: "child" }, message: "hi" })).toContain("child requires 'name'");
    expect(await prepare({ to: { relation: "agent" }, message: "hi" })).toContain("agent requires 'thread_id'");
    expect(await prepare({ to: { relation: "friend" }, message: "hi" })).toContain("unknown relation 'friend'");
    expect(await prepare({ to: { relation: "parent" } })).toContain("missing 'message'");
    expect(await prepare({ to: { relation: "parent" }, message: "hi" })).toBe("valid");
    expect(await prepare({ to: { relation: "child", name: "bg_0" }, message: "hi" })).toBe("valid");
    expect(await prepare({ to: { relation: "agent", thread_id: "t2", agent_id: "x" }, message: "hi" })).toBe("valid");
  });
});

describe("a message that is delivered during the call", () => {
  /** What a run of the agent gets for each message. */
  async function sent(to: readonly MessageRecipient[], sink: MessageSink, trace = {}): Promise<readonly MessageReceipt[]> {
    const { runtime, does } = office({ lead: leading }, { messageSink: sink });
    await runtime.run({ ...GO, thread: "above" });
    const receipts: MessageReceipt[] = [];
    does(async ({ sendMessage }) => {
      for (const each of to) receipts.push(await sendMessage(each, "please"));
    });
    await runtime.run({ ...GO, trace });
    await runtime.close();
    return receipts;
  }

  test("multi-agent 46: seed 003: the sink gets thread, agent, sender and text as they are", async () => {
    const { requests, sink } = recorded();
    const receipts = await sent(
      [
        { relation: "agent", threadId: "t2" },
        { relation: "agent", threadId: "t2", agentId: "" },
        { relation: "agent", threadId: "t2", agentId: "reviewer" },
      ],
      sink,
    );
    expect(requests.map(({ messageId: _, ...request }) => request)).toEqual(
      [null, null, "reviewer"].map((recipientAgentId) => ({
        recipientThreadId: "t2",
        recipientAgentId,
        senderAgentId: "lead",
        message: "please",
      })),
    );
    expect(new Set(requests.map(({ messageId }) => messageId)).size).toBe(3);
    expect(receipts).toEqual([1, 2, 3].map((count) => ({ status: "accepted", messageId: `durable-${count}` })));
  });

  test("multi-agent 47: seed 003: the parent is reached by its thread, and not by its run alone", async () => {
    const { requests, sink } = recorded();
    const parent = [{ relation: "parent" }] as const;
    expect(await sent(parent, sink)).toEqual([{ status: "failed", messageId: "", error: "recipient_unavailable" }]);
    expect(await sent(parent, sink, { parentRunId: "r1" })).toEqual([{ status: "failed", messageId: "", error: "recipient_unavailable" }]);
    expect(requests).toEqual([]);
    expect(await sent(parent, sink, { parentRunId: "r1", parentThreadId: "above" })).toEqual([
      { status: "accepted", messageId: "durable-1" },
    ]);
    expect(requests).toMatchObject([{ recipientThreadId: "above", recipientAgentId: null, senderAgentId: "lead", message: "please" }]);
  });

  test("multi-agent 48: a sink that refuses is a failed receipt", async () => {
    const receipts = await sent([{ relation: "agent", threadId: "t2" }], () => Promise.reject(new Error("the line is dead")));
    expect(receipts).toEqual([{ status: "failed", messageId: "", error: "transport_failed: the line is dead" }]);
  });
});

describe.each(STORES)("a message to what runs in the background, with %s", (_, make) => {
  test("multi-agent 44, 67: seed 003: by id before name, and only while it runs and can read", async () => {
    const { runtime, does } = office({ lead: leading }, given(make()));
    const receipts: MessageReceipt[] = [];
    const heard: unknown[] = [];
    does(async ({ tasks, sendMessage }) => {
      const listens = (name: string) =>
        tasks.spawnAgent({
          name,
          body: async ({ inbox, signal }) => void heard.push([name, await inbox.receive(signal)]),
        });
      await listens("bg_1");
      const second = await listens("researcher");
      await tasks.spawn(
        { name: "deaf" },
        ({ signal }) => new Promise((_, no) => signal.addEventListener("abort", () => no(signal.reason))),
      );
      for (const name of ["bg_1", "bg_1", "deaf", "nobody"]) {
        receipts.push(await sendMessage({ relation: "child", name }, "hi"));
        if (receipts.length === 1) await tasks.settled(second);
      }
      receipts.push(await sendMessage(JSON.parse('{ "relation": "friend" }'), "hi"));
      tasks.cancelAll();
    });
    await ended(runtime, (await runtime.run(GO)).runId);
    const message = (taskId: string) => ({ kind: "custom", taskId, eventType: "agent_message", payload: { from: "lead", content: "hi" } });
    // The id names the second; when that is over, the name the first.
    expect(heard).toEqual([
      ["researcher", message("bg_1")],
      ["bg_1", message("bg_0")],
    ]);
    expect(receipts.map(({ status }) => status)).toEqual(["accepted", "accepted", "failed", "failed", "failed"]);
    expect(receipts.map((receipt) => ("error" in receipt ? receipt.error : undefined))).toEqual([
      undefined,
      undefined,
      "recipient_unavailable",
      "recipient_not_found",
      "recipient_not_found",
    ]);
    expect(receipts.slice(2).map(({ messageId }) => messageId)).toEqual(["", "", ""]);
    await runtime.close();
  });

  test("multi-agent 45: seed 003: a child of another thread is not reached", async () => {
    const { runtime, does } = office({ lead: leading }, given(make()));
    const heard: unknown[] = [];
    does(async ({ tasks }) => {
      await tasks.spawnAgent({ name: "theirs", body: async ({ inbox, signal }) => void heard.push(await inbox.receive(signal)) });
    });
    const other = await runtime.run({ ...GO, thread: "other" });
    let receipt: MessageReceipt | undefined;
    does(async ({ sendMessage }) => {
      receipt = await sendMessage({ relation: "child", name: "theirs" }, "hi");
    });
    await runtime.run(GO);
    expect(receipt).toEqual({ status: "failed", messageId: "", error: "recipient_not_found" });
    expect(heard).toEqual([]);
    await runtime.cancelAndWait(other.runId);
    await runtime.close();
  });
});

/** Writes to another agent once, and then says what it reads. */
const writing = (to: string): readonly ScriptStep[] =>
  new Array<ScriptStep>(10).fill((request) => {
    const last = request.messages.at(-1);
    const said = last === undefined ? "" : messageText(last);
    if (last?.role === "tool") return text(said);
    return toolCall("send_message", { to: { relation: "agent", thread_id: to }, message: "hello there" });
  });

const AGENTS = { lead: { model: "lead", tools: ["send_message"] }, scribe: { model: "scribe" } };

describe.each(STORES)("send_message to an agent of another thread, with %s", (name, make) => {
  test("a thread that is free answers it", async () => {
    const { runtime, models } = office(
      { lead: writing("theirs"), scribe: new Array<ScriptStep>(5).fill(() => text("noted")) },
      { ...given(make()), agents: AGENTS },
    );
    await runtime.run({ agent: "scribe", thread: "theirs", input: "be ready" });
    const result = await runtime.run(GO);
    expect(JSON.parse(result.text)).toMatchObject({ status: name === "no store" ? "accepted" : "queued" });
    while (models["scribe"]?.requests.length !== 2) await new Promise((resolve) => setTimeout(resolve, 2));
    const read = models["scribe"]?.requests[1]?.messages.at(-1);
    expect(read).toMatchObject({ role: "user", metadata: { senderAgentId: "lead" } });
    expect(read === undefined ? "" : messageText(read)).toBe("hello there");
    await runtime.close();
  });

  test("one that waits keeps its tickets, and reads it when it goes on", async () => {
    const store = make();
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
    const { runtime, models } = office(
      { lead: writing("theirs"), scribe: [toolCall("pay", {}), ...new Array<ScriptStep>(5).fill(() => text("noted"))] },
      { ...given(store), agents: AGENTS, tools: [pay] },
    );
    const asked = await runtime.run({ agent: "scribe", thread: "theirs", input: "pay" });
    const tickets = asked.status === "waiting" ? asked.tickets : [];
    expect(tickets).toHaveLength(1);
    const result = await runtime.run(GO);
    expect(JSON.parse(result.text)).toMatchObject({ status: name === "no store" ? "accepted" : "queued" });
    // Whoever was woken for it has looked.
    const open = async () => (await store?.dispatches.list(threadId("theirs"), { statuses: ["queued", "claimed"] })) ?? [];
    while ((await open()).length > 0) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(await runtime.wait(asked.runId)).toMatchObject({ status: "waiting", tickets: [{ id: tickets[0]?.id }] });
    expect(models["scribe"]?.requests).toHaveLength(1);
    await runtime.decide(tickets[0]?.id ?? "", { action: "approve" });
    expect(await ended(runtime, asked.runId)).toMatchObject({ status: "done", text: "noted" });
    const reads = (models["scribe"]?.requests ?? []).filter(({ messages }) =>
      messages.some((message) => message.metadata?.senderAgentId === "lead" && messageText(message) === "hello there"),
    );
    expect(reads.length).toBeGreaterThan(0);
    const results = models["scribe"]?.requests.at(-1)?.messages.filter(({ role }) => role === "tool");
    expect(results?.map((message) => messageText(message))).toEqual(["paid"]);
    await runtime.close();
  });
});

describe.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
] as const)("the outbox, on %s", (_, make) => {
  const keys = async (store: ReturnType<typeof make>) => (await store.threads.loadHead(threadId("t")))?.state?.extensions ?? {};

  test("multi-agent 50: four failures stay queued, the fifth puts it aside, and a replay queues it again under its id", async () => {
    const store = make();
    let isDead = true;
    const tries: string[] = [];
    const sink: MessageSink = async ({ messageId }) => {
      tries.push(messageId);
      if (isDead) throw new Error("no line");
      return "delivered";
    };
    const lead: readonly ScriptStep[] = new Array<ScriptStep>(30).fill((request) => {
      const last = request.messages.at(-1);
      const said = last === undefined ? "" : messageText(last);
      if (last?.role === "tool") return text(said);
      if (said === "write") return toolCall("send_message", { to: { relation: "agent", thread_id: "x" }, message: "m" });
      return said === "idle" ? text("idle") : toolCall("recover_failed_messages", { action: said });
    });
    const { runtime } = office(
      { lead },
      { store, messageSink: sink, agents: { lead: { model: "lead", tools: ["send_message", "recover_failed_messages"] } } },
    );
    const say = (input: string) => runtime.run({ agent: "lead", thread: "t", input });
    const { message_id: id } = JSON.parse((await say("write")).text);
    while (tries.length < 4) await say("idle");
    expect((await keys(store))[messageOutbox.name]).toMatchObject({ pending: [{ id, attempts: 4 }] });
    await say("idle");
    expect(tries).toHaveLength(5);
    expect((await keys(store))[messageOutbox.name]).toMatchObject({ pending: [] });
    expect(JSON.parse((await say("list")).text)).toEqual({
      action: "list",
      count: 1,
      messages: [{ message_id: id, recipient_thread_id: "x", recipient_agent_id: null, error: "no line" }],
    });
    isDead = false;
    expect(JSON.parse((await say("replay")).text)).toMatchObject({ count: 1 });
    expect(new Set(tries)).toEqual(new Set([id]));
    expect(tries).toHaveLength(6);
    expect((await keys(store))[failedMessages.name]).toMatchObject({ messages: [] });
    expect(await say("forget").then(({ text: said }) => said)).toContain("unknown action 'forget'");
    await runtime.close();
  });

  test("multi-agent 51: wherever the process dies, the message is sent again under its id, and is there once", async () => {
    for (let nth = 1; ; nth++) {
      const store = make();
      const points = crashPoints({ at: nth % 2 === 0 ? "commit-end" : "commit-start", nth: Math.ceil(nth / 2), mode: "throw" });
      const init = { agents: AGENTS, workers: false };
      const turns = { lead: writing("theirs"), scribe: [] };
      const dying = office(turns, { ...init, ...process(points.commits(store, "commit", "transaction")) });
      await dying.runtime.run(GO).catch(() => undefined);
      const next = office(turns, { ...init, ...process(store) });
      await next.runtime.recover();
      const open = (await store.threads.loadHead(threadId("t")))?.openRun;
      const last = open === undefined ? undefined : await next.runtime.resume(open.runId);
      if (last === undefined && points.hasCrashed && nth <= 2) await next.runtime.run(GO);
      const { entries } = await store.pending.load(threadId("theirs"));
      expect(
        entries.map(({ message }) => messageText(message)),
        `crash ${nth}`,
      ).toEqual(["hello there"]);
      await next.runtime.close();
      if (!points.hasCrashed) {
        expect(nth).toBeGreaterThan(6);
        return;
      }
    }
  });
});
