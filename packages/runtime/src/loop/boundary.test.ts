import { type Message, messageId, messageText, threadId } from "@awaken/contract";
import type { Boundary, PendingRecord } from "@awaken/contract/store";

import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { pendingWork } from "../state/pending-work.ts";
import { Queue } from "../stream/queue.ts";
import { eventTypes, lifecycleTypes, runScripted, userMessage } from "../testing/run-scripted.ts";
import { text, toolCall } from "../testing/script.ts";
import { defineTool } from "../tool/define-tool.ts";

const busy = (isBusy: () => boolean) =>
  definePlugin({
    id: "busy",
    register(r) {
      r.hook("stepEnd", () => command().update(pendingWork, isBusy()));
    },
  });

const noop = defineTool({ id: "noop", description: "", input: z.object({}), execute: () => null });

const last = (messages: readonly Message[] | undefined) => {
  const message = messages?.at(-1);
  return message === undefined ? "" : messageText(message);
};

const pending = (position: number, message: Message, boundary: Boundary): PendingRecord => ({
  schemaVersion: 1,
  pendingId: message.id,
  threadId: threadId("thread"),
  position,
  message,
  revision: 1,
  deliveryMode: { boundary, granularity: "batch", barrier: false, fallbackToNewRun: true },
  createdAt: 0,
  updatedAt: 0,
});

describe("background and delivery", () => {
  it("core-execution 67: work in the background leaves a top-level run waiting, after a natural end and one step end per step", async () => {
    const { result, events, thread } = await runScripted({ turns: [text("started")], plugins: [busy(() => true)] });
    expect(result).toMatchObject({ status: "waiting", termination: { type: "natural-end" } });
    expect(thread.run).toMatchObject({ status: "waiting", waiting: { reason: "awaiting-tasks" } });
    expect(eventTypes(events).filter((type) => type === "step-end")).toHaveLength(1);
  });

  it("core-execution 67: a subagent waits for it in the process", async () => {
    const inbox = new Queue<InboxItem>();
    let isBusy = true;
    const { result, model } = await runScripted({
      turns: [text("started"), text("all done")],
      plugins: [busy(() => isBusy)],
      origin: "subagent",
      inbox,
      onEvent: (event) => {
        if (event.type !== "step-end" || !isBusy) return;
        isBusy = false;
        setTimeout(() => inbox.push({ type: "task", event: { taskId: "bg_1", kind: "completed", result: "ok" } }), 2);
      },
    });
    expect(result).toMatchObject({ status: "done", text: "all done", steps: 2 });
    expect(last(model?.requests[1]?.messages)).toContain('task_id="bg_1"');
  });

  it("a cancelled wait for background work ends at once", async () => {
    const controller = new AbortController();
    const { result } = await runScripted({
      turns: [text("started")],
      plugins: [busy(() => true)],
      origin: "subagent",
      signal: controller.signal,
      onEvent: (event) => {
        if (event.type === "step-end") setTimeout(() => controller.abort(), 2);
      },
    });
    expect(result.termination).toEqual({ type: "cancelled" });
  });

  it("a continuation of a waiting run goes on with its steps", async () => {
    const first = await runScripted({ turns: [text("started")], plugins: [busy(() => true)] });
    const second = await runScripted({
      turns: [text("finished")],
      plugins: [busy(() => false)],
      thread: first.thread,
      resume: first.result.runId,
    });
    expect(second.result).toMatchObject({ status: "done", steps: 2, text: "finished" });
    expect(lifecycleTypes(second.events)[0]).toBe("run-start");
  });

  it("core-execution 68: a message during the last step brings another inference; a compaction notice does not", async () => {
    const inbox = new Queue<InboxItem>();
    let isSent = false;
    const { result, model } = await runScripted({
      turns: [text("first"), text("second")],
      inbox,
      onEvent: (event) => {
        if (event.type !== "inference-end") return;
        if (!isSent) inbox.push({ type: "messages", messages: [userMessage("one more thing", "late-1")] });
        else inbox.push({ type: "compaction", notice: { swap: () => undefined, bookkeep: () => undefined } });
        isSent = true;
      },
    });
    expect(result).toMatchObject({ steps: 2, text: "second" });
    expect(last(model?.requests[1]?.messages)).toBe("one more thing");
  });

  it("messages that came during a tool round are read in the next step", async () => {
    const inbox = new Queue<InboxItem>();
    const { model } = await runScripted({
      turns: [toolCall("noop", {}), text("x")],
      tools: [noop],
      inbox,
      onEvent: (event) => {
        if (event.type === "tool-call-end") inbox.push({ type: "messages", messages: [userMessage("wait!", "late-2")] });
      },
    });
    expect(last(model?.requests[1]?.messages)).toBe("wait!");
  });

  it("core-execution 65: after a compaction in the middle of a run, the response and the log are right", async () => {
    const inbox = new Queue<InboxItem>();
    const summary: Message = {
      id: messageId("summary"),
      role: "system",
      visibility: "internal",
      content: [{ type: "text", text: "so far" }],
    };
    const { result, thread, model } = await runScripted({
      turns: [toolCall("noop", {}, { id: "c1" }), text("answer")],
      tools: [noop],
      input: [userMessage("a", "u1"), userMessage("b", "u2")],
      inbox,
      onEvent: (event) => {
        if (event.type !== "tool-call-end") return;
        inbox.push({ type: "compaction", notice: { swap: () => ({ upTo: messageId("u2"), summary }), bookkeep: () => undefined } });
      },
    });
    expect(model?.requests[1]?.messages.map((message) => message.role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(result.text).toBe("answer");
    const ids = thread.rows.map((row) => `${row.seq}:${row.message.role}`);
    expect(ids).toEqual(["1:user", "2:user", "3:assistant", "4:tool", "5:system", "6:assistant"]);
    expect(thread.rows[4]?.message.metadata?.compaction).toEqual({ fromSeq: 1, toSeq: 2 });
    const again = await runScripted({ turns: [text("y")], thread, input: "next" });
    expect(again.model?.requests[0]?.messages.map((message) => message.role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
  });

  it("a summary of a message that is gone changes nothing", async () => {
    const inbox = new Queue<InboxItem>();
    const swapped: boolean[] = [];
    const summary: Message = { id: messageId("s2"), role: "system", content: [{ type: "text", text: "so far" }] };
    const bookkeep = (_state: unknown, isSwapped: boolean) => {
      swapped.push(isSwapped);
      return undefined;
    };
    const { thread } = await runScripted({
      turns: [toolCall("noop", {}), text("answer")],
      tools: [noop],
      inbox,
      onEvent: (event) => {
        if (event.type === "tool-call-end")
          inbox.push({ type: "compaction", notice: { swap: () => ({ upTo: messageId("gone"), summary }), bookkeep } });
      },
    });
    expect(swapped).toEqual([false]);
    expect(thread.said.map((message) => message.role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  it("core-execution 69: what waits in the thread's queue enters at its boundary, committed first", async () => {
    const queue = [pending(1, userMessage("steer", "p1"), "next-step"), pending(2, userMessage("and then", "p2"), "on-natural-end")];
    const asked: (Boundary | undefined)[] = [];
    const { model, result, thread } = await runScripted({
      turns: [toolCall("noop", {}), text("one"), text("two")],
      tools: [noop],
      holding: {
        hasMail: true,
        riders: () => ({}),
        landed({ pending: change }) {
          for (const { pendingId } of change?.consume?.entries ?? []) {
            queue.splice(
              queue.findIndex((entry) => entry.pendingId === pendingId),
              1,
            );
          }
        },
        waiting: (at) => {
          asked.push(at);
          return queue.filter((entry) => entry.deliveryMode.boundary === at);
        },
      },
    });
    expect(thread.said.map(messageText)).toEqual(["hello", "", "null", "steer", "one", "and then", "two"]);
    expect(thread.run?.input.triggerMessageIds).toEqual([thread.said[0]?.id, "p1", "p2"]);
    expect(asked).toEqual(["next-step", "on-natural-end", "on-natural-end"]);
    expect(last(model?.requests[1]?.messages)).toBe("steer");
    expect(last(model?.requests[2]?.messages)).toBe("and then");
    expect(result.text).toBe("two");
  });
});
