import { AsyncLocalStorage } from "node:async_hooks";
import { AwakenError } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { Runtime, RuntimeInit } from "../create-runtime.ts";
import { text, toolCall } from "../testing/script.ts";
import type { ScriptStep } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { open as openScripted } from "./open.test-support.ts";
import { STORES } from "./stores.test-support.ts";

// A tool of a queued run waits for another queued run, and has the only place meanwhile.

let count = 0;
const node = () => ({ name: `node-${count++}`, isGone: () => false, trail: new AsyncLocalStorage<object>() });

const open = (store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit>) =>
  openScripted(store, turns, { concurrency: 1, node: node(), ...init });

const toolOf = (execute: () => Promise<string>) => defineTool({ id: "call", description: "", input: z.object({}), execute });

describe.each(STORES)("with one place, on %s", (_, make) => {
  const ways: readonly [string, (runtime: Runtime) => Promise<string>][] = [
    [
      "waits for a run that it started",
      async (runtime) => {
        const { runId } = await runtime.start({ thread: "inner", input: "y" });
        return (await runtime.wait(runId)).text;
      },
    ],
    [
      "follows a run that it started",
      async (runtime) => {
        const { runId } = await runtime.start({ thread: "inner", input: "y" });
        let said = "";
        for await (const event of runtime.attach(runId)) if (event.type === "text-delta") said += event.delta;
        return said;
      },
    ],
    [
      "waits for a run that answers what it sent",
      async (runtime) => (await runtime.wait((await runtime.send("inner", "y", { mode: "queue" })).runId ?? "")).text,
    ],
  ];

  test.each(ways)("a tool %s: that one is taken up beside it", async (_way, work) => {
    await using store = make();
    const call = toolOf(() => work(runtime));
    await using runtime = open(store, [toolCall("call", {}), text("inner says"), text("done")], { tools: [call] });
    const { runId: id } = await runtime.start({ thread: "outer", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "done", text: "done" });
    const { items } = await store.messages.list((await runtime.wait(id)).threadId, {});
    expect(JSON.stringify(items)).toContain("inner says");
  });

  test("whoever waits outside of it has to wait: no more than one is executed at a time", async () => {
    await using store = make();
    let now = 0;
    let most = 0;
    const call = toolOf(async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now -= 1;
      return "called";
    });
    const turns = Array.from({ length: 4 }, () => [toolCall("call", {}), text("done")]).flat();
    await using runtime = open(store, turns, { tools: [call] });
    const started = await Promise.all(["a", "b", "c", "d"].map((thread) => runtime.start({ thread, input: "x" })));
    const results = await Promise.all(started.map(({ runId }) => runtime.wait(runId)));
    expect(results.map(({ status }) => status)).toEqual(["done", "done", "done", "done"]);
    expect(most).toBe(1);
  });

  test("a tool that waits for a run which is queued behind its own is told at once that it cannot", async () => {
    await using store = make();
    const codes: unknown[] = [];
    const call = toolOf(async () => {
      const { runId } = await runtime.start({ thread: "outer", input: "y" });
      await runtime
        .wait(runId, { timeoutMs: 60_000 })
        .catch((thrown: unknown) => codes.push(AwakenError.is(thrown) ? thrown.code : thrown));
      return "called";
    });
    await using runtime = open(store, [toolCall("call", {}), text("first"), text("second")], { tools: [call] });
    const { runId: id } = await runtime.start({ thread: "outer", input: "x" });
    expect(await runtime.wait(id)).toMatchObject({ status: "done", text: "first" });
    expect(codes).toEqual(["thread_already_running"]);
  });
});
