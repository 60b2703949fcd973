import { threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { soleNode } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";

const STORES: readonly (readonly [string, () => { store?: Store }])[] = [
  ["memory", () => ({ store: memoryStore() })],
  ["sqlite", () => ({ store: sqliteStore(":memory:") })],
  ["no store", () => ({})],
];

const start = (turns: readonly ScriptStep[], more: Partial<Parameters<typeof createRuntime>[0]> = {}) =>
  createRuntime({
    providers: { p: scripted(turns) },
    models: { m: { provider: "p", model: "x" } },
    agents: { a: { model: "m" } },
    log: { warn() {}, error() {} },
    ...more,
  });

describe.each(STORES)("requests that cannot be right, with %s", (_, storage) => {
  it("a malformed part of a message is named by its place, and nothing is recorded", async () => {
    const { store } = storage();
    const runtime = start([], store === undefined ? {} : { store });
    for (const [content, problem] of [
      [[null], /message 0 of the input: content\.0: must be an object, got null/],
      [
        [
          { type: "text", text: "ok" },
          { type: "text", text: 5 },
        ],
        /content\.1\.text: must be a string, got a number/,
      ],
      [[{ type: "txt", text: "x" }], /content\.0\.type: must be one of 'text', 'image'.*got 'txt'/],
      [[{ type: "image", source: "x" }], /content\.0\.source: must be an object/],
      [[{ type: "text", text: "x", colour: 1 }], /content\.0\.colour: is an unknown field/],
      [[{ type: "text", text: "x", providerMetadata: { a: () => 1 } }], /providerMetadata/],
    ] as const) {
      const request = { thread: "t", runId: "r", input: [{ role: "user", content }] };
      await expect(runtime.run(request as never)).rejects.toMatchObject({
        code: "invalid_activation",
        message: expect.stringMatching(problem),
      });
    }
    await expect(runtime.wait("r")).rejects.toMatchObject({ code: "run_not_found" });
    expect(await store?.threads.load(threadId("t"))).toBeUndefined();
  });

  it("a part whose optional fields are undefined is taken as if they were left out", async () => {
    const runtime = start([text("ok")], storage());
    const content = [{ type: "text", text: "x", providerMetadata: undefined }];
    expect(await runtime.run({ input: [{ role: "user", content }] } as never)).toMatchObject({ text: "ok" });
  });

  it("an unknown parent thread is told as what it is, and a thread is not its own parent", async () => {
    const { store } = storage();
    const runtime = start([text("parent"), text("child")], store === undefined ? {} : { store });
    const child = { thread: "child", input: "x", trace: { parentThreadId: "parent" } };
    await expect(runtime.run(child)).rejects.toMatchObject({ code: "thread_not_found", message: "parent thread not found: parent" });
    expect(await store?.threads.load(threadId("child"))).toBeUndefined();
    await expect(runtime.run({ thread: "t", input: "x", trace: { parentThreadId: "t" } })).rejects.toMatchObject({
      code: "invalid_activation",
    });
    await runtime.run({ thread: "parent", input: "x" });
    expect(await runtime.run(child)).toMatchObject({ text: "child" });
  });

  it("the call that a run comes from is kept: hooks see it, and its record has it when the run goes on", async () => {
    const seen: unknown[] = [];
    const watch = definePlugin({
      id: "watch",
      register: (r) => r.hook("runStart", ({ identity }) => void seen.push(identity.parentToolCallId)),
    });
    const guarded = defineTool({ id: "guarded", description: "", input: z.object({}), approve: () => ask("?"), execute: () => 1 });
    const { store } = storage();
    const runtime = start([toolCall("guarded", {}), text("ok")], {
      ...(store === undefined ? {} : { store }),
      agents: { a: { model: "m", plugins: ["watch"] } },
      plugins: [watch],
      tools: [guarded],
    });
    const first = await runtime.run({ input: "x", trace: { parentToolCallId: "call-7", parentRunId: "run-1" } });
    const [ticket] = first.status === "waiting" ? first.tickets : [];
    await (await runtime.decide(ticket?.id ?? "", { action: "approve" })).result;
    expect(seen).toEqual(["call-7", "call-7"]);
    if (store !== undefined) expect((await store.runs.load(first.runId))?.activation.trace.parentToolCallId).toBe("call-7");
  });
});

describe.each(STORES.slice(0, 2))("an owner that lost its run, with %s", (_, storage) => {
  it("is told so by a code of its own, and what it did last is not on record", async () => {
    const { store } = storage();
    const gate = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    let calls = 0;
    const slow = defineTool({
      id: "slow",
      description: "",
      input: z.object({}),
      idempotent: true,
      execute: async () => {
        calls += 1;
        if (calls > 1) return "of the second";
        began.resolve();
        await gate.promise;
        return "of the first";
      },
    });
    const more = { ...(store === undefined ? {} : { store }), tools: [slow] };
    const first = start([toolCall("slow", {}), text("first")], more);
    // The second one takes the first for gone, which is only slow.
    const second = start([text("second")], { ...more, node: soleNode("second"), workers: false });
    const run = first.stream({ thread: "t", runId: "r", input: "x" });
    await began.promise;
    expect(await second.resume("r")).toMatchObject({ status: "done", text: "second" });
    gate.resolve();
    expect(await run.result).toMatchObject({
      status: "failed",
      error: { code: "fence_lost", message: expect.stringMatching(/^the run was taken over by somebody else/) },
    });
    const log = JSON.stringify((await store?.threads.loadHead(threadId("t")))?.messages);
    expect([log.includes("of the second"), log.includes("of the first")]).toEqual([true, false]);
  });
});

it("metadata without a member does not change what a resumed call tells", async () => {
  const told: unknown[] = [];
  const toolWith = (id: string, metadata: { [name: string]: number }) =>
    defineTool({ id, description: "", input: z.object({}), approve: () => ask("?"), execute: () => reply({ n: 1 }, { metadata }) });
  const runtime = start([toolCall("bare", {}), toolCall("rich", {}), text("ok")], {
    tools: [toolWith("bare", {}), toolWith("rich", { m: 1 })],
  });
  let result = await runtime.run({ thread: "t", input: "x" });
  while (result.status === "waiting") {
    const run = await runtime.decide(result.tickets[0]?.id ?? "", { action: "approve" });
    for await (const event of run) if (event.type === "tool-call-resumed") told.push(event.result);
    result = await run.result;
  }
  expect(told).toEqual([{ n: 1 }, { data: { n: 1 }, metadata: { m: 1 } }]);
});

describe("verbs without an argument that means something", () => {
  it("say what they expected", async () => {
    const runtime = start([]);
    await expect(runtime.run(null as never)).rejects.toMatchObject({
      code: "invalid_activation",
      message: "a run request must be an object, got null",
    });
    await expect(runtime.decide("t", null as never)).rejects.toMatchObject({
      code: "invalid_activation",
      message: "a decision must be an object, got null",
    });
    await expect(runtime.decide("t", { action: "aprove" } as never)).rejects.toMatchObject({
      message: "option 'action' of a decision must be one of approve, deny, answer, got a string",
    });
    await expect(runtime.run({ inputs: "x", tread: "t" } as never)).rejects.toMatchObject({
      code: "invalid_activation",
      message:
        "unknown option 'inputs' of a run request: did you mean 'input'?; unknown option 'tread' of a run request: did you mean 'thread'?",
    });
    await expect(runtime.wait("r", { timeout: 5 } as never)).rejects.toThrow("unknown option 'timeout' of wait: did you mean 'timeoutMs'?");
  });
});
