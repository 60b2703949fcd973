import { AwakenError, type InferenceRequest, type Provider, type StreamPart } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { team } from "../builtin/delegate/team.test-support.ts";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";

// What hosts hand in may break its promises: a run fails then, and nothing but the run.

const unhandled: unknown[] = [];
const note = (reason: unknown) => unhandled.push(reason);
beforeEach(() => {
  unhandled.length = 0;
  process.on("unhandledRejection", note);
});
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", note);
  expect(unhandled).toEqual([]);
});

const open = (provider: Provider, more: Partial<RuntimeInit> = {}) =>
  createRuntime({
    providers: { fake: provider },
    models: { fast: { provider: "fake", model: "m" } },
    agents: { default: { model: "fast" } },
    ...more,
  });

const STOP: StreamPart = { type: "stop", reason: "end-turn" };

describe("parts that break their promises", () => {
  it.each([null, {}, 7])("%j as a signal is refused, and the thread stays free", async (signal) => {
    const runtime = open(scripted([text("hello")]));
    const request = { thread: "t", input: "hi" };
    Object.assign(request, { signal });
    await expect(runtime.run(request)).rejects.toMatchObject({ code: "invalid_activation", message: expect.stringContaining("signal") });
    expect((await runtime.run({ thread: "t", input: "hi" })).text).toBe("hello");
  });

  it("a logger that throws while the run fails keeps its thread from nobody", async () => {
    const inner = memoryStore();
    let commits = 0;
    const commit: Store["commit"] = (given) => {
      commits += 1;
      if (commits === 2) throw new Error("disk full");
      return inner.commit(given);
    };
    const store: Store = Object.assign(Object.create(inner), { commit });
    const broken = () => {
      throw new Error("log broken");
    };
    const tools = [defineTool({ id: "work", description: "Work", input: z.object({}), pure: true, execute: () => 1 })];
    const provider = scripted([toolCall("work", {}), text("hello")]);
    const runtime = open(provider, { store, tools, log: { warn: broken, error: broken } });
    await expect(runtime.run({ thread: "t", input: "hi" })).rejects.toThrow("log broken");
    expect((await runtime.run({ thread: "t", input: "hi" })).text).toBe("hello");
  });

  it("a logger that throws while the last messages to a run that fails cannot be kept keeps its thread from nobody", async () => {
    const inner = memoryStore();
    let isFull = false;
    const commit: Store["commit"] = (given) => {
      if (isFull) throw new Error("disk full");
      return inner.commit(given);
    };
    const told: string[] = [];
    const broken = (line: string) => {
      told.push(line);
      throw new Error("log broken");
    };
    const execute = async () => {
      await runtime.send("t", "and this");
      isFull = true;
    };
    const tools = [defineTool({ id: "work", description: "Work", input: z.object({}), pure: true, execute })];
    const provider = scripted([toolCall("work", {}), text("hello")]);
    const runtime = open(provider, { store: Object.assign(Object.create(inner), { commit }), tools, log: { warn: broken, error: broken } });
    await expect(runtime.run({ thread: "t", input: "hi" })).rejects.toThrow("log broken");
    expect(told.at(-1)).toBe("messages could not be kept: disk full");
    isFull = false;
    expect((await runtime.run({ thread: "t", input: "hi" })).text).toBe("hello");
    await runtime.close();
  });

  it("a logger that throws while a child cannot be told to stop: the calls of its parent are closed all the same", async () => {
    await using inner = memoryStore();
    let isBroken = false;
    const load: Store["runs"]["load"] = async (id) => {
      const run = await inner.runs.load(id);
      if (isBroken && run?.parentRunId !== undefined) throw new Error("disk full");
      return run;
    };
    const warn = () => {
      if (isBroken) throw new Error("log broken");
    };
    const pay = defineTool({ id: "pay", description: "", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });
    const { runtime, models } = team(
      {
        lead: { turns: [toolCall("agent_run_clerk", { prompt: "pay" }), text("well")], spec: { delegates: ["clerk"], tools: [] } },
        clerk: { turns: [toolCall("pay", {})], spec: { tools: ["pay"] } },
      },
      {
        store: { ...inner, runs: { ...inner.runs, load } },
        tools: [pay],
        workers: false,
        log: { warn, error() {} },
      },
    );
    const waiting = await runtime.run({ agent: "lead", thread: "t", input: "go" });
    expect(waiting).toMatchObject({ status: "waiting", waitingReason: "child-run" });
    isBroken = true;
    await runtime.cancel(waiting.runId);
    expect(await runtime.wait(waiting.runId)).toMatchObject({ status: "cancelled" });
    isBroken = false;
    expect(await runtime.run({ thread: "t", input: "and now?" })).toMatchObject({ text: "well" });
    expect(JSON.stringify(models["lead"]?.requests[1]?.messages)).toContain("the run ended before there was a decision");
    await runtime.close();
  });

  it("a stream whose next part is nothing at all ends the run with an error", async () => {
    const next = async (): Promise<IteratorResult<StreamPart>> => JSON.parse("null");
    const runtime = open({ name: "fake", stream: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) });
    expect((await runtime.run({ input: "hi" })).termination).toMatchObject({ type: "error" });
  });

  it("a stream that says its last word and does not close is broken off, once", async () => {
    const clock = fakeClock();
    const heard: string[] = [];
    const provider: Provider = {
      name: "fake",
      stream(_request, { signal }) {
        signal.addEventListener("abort", () => heard.push("abort"));
        const parts = [STOP];
        const next = () => {
          const value = parts.shift();
          return value === undefined ? new Promise<never>(() => {}) : Promise.resolve({ done: false as const, value });
        };
        const close = async () => {
          heard.push("return");
          return { done: true as const, value: undefined };
        };
        return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
      },
    };
    const running = open(provider, { clock }).run({ input: "hi" });
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    clock.advance(1_000);
    expect((await running).termination).toEqual({ type: "natural-end" });
    expect(heard).toEqual(["abort", "return"]);
  });

  it("a model that changes the list of tools does not change it for the next run", async () => {
    const tools = ["a", "b", "c"].map((id) => defineTool({ id, description: "", input: z.object({}), execute: () => "" }));
    const offered: (readonly string[])[] = [];
    const provider: Provider = {
      name: "fake",
      async *stream(request: InferenceRequest) {
        offered.push(request.tools.map(({ id }) => id));
        expect(() => Reflect.apply(Array.prototype.pop, request.tools, [])).toThrow(TypeError);
        yield STOP;
      },
    };
    const runtime = open(provider, { tools });
    for (let run = 0; run < 2; run++) await runtime.run({ input: "hi" });
    expect(offered).toEqual([
      ["a", "b", "c"],
      ["a", "b", "c"],
    ]);
  });

  it("a store that throws instead of rejecting is asked again after a conflict", async () => {
    const store = memoryStore();
    let commits = 0;
    const commit: Store["commit"] = (change) => {
      commits += 1;
      if (commits === 1) {
        const details = { threadId: change.threadId, expected: 0, actual: 0 };
        throw new AwakenError("message_version_conflict", "somebody was faster", { details });
      }
      return store.commit(change);
    };
    const runtime = open(scripted([text("hello")]), { store: { ...store, commit } });
    expect(await runtime.run({ thread: "t", input: "hi" })).toMatchObject({ text: "hello", status: "done" });
  });

  it("ids that cannot be made are a rejection", async () => {
    const ids = () => {
      throw new Error("out of ids");
    };
    const runtime = open(scripted([text("hello")]), { ids });
    await expect(runtime.run({ input: "hi" })).rejects.toThrow("out of ids");
  });
});
