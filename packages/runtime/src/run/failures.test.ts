import { AwakenError, messageId, messageText, type Provider, RUN_STATUSES, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type Runtime } from "../create-runtime.ts";
import { countedSignal } from "../stream/counted-signal.test-support.ts";
import { instantClock } from "../testing/fake-clock.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import type { RunRequest } from "./run-request.ts";

const SILENT = { warn() {}, error() {} };

/** What is done at each call of the store: the n-th may throw, or anything else may happen. */
function watched(store: Store, onCall: () => void): Store {
  const tap = <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      onCall();
      return call(...args);
    };
  };
  return {
    ...store,
    threads: { ...store.threads, loadHead: tap(store.threads.loadHead) },
    runs: { ...store.runs, load: tap(store.runs.load), listByTicket: tap(store.runs.listByTicket) },
    commit: tap(store.commit),
    transaction: async (work) => {
      onCall();
      return store.transaction((ports) => work({ ...ports, commit: tap(ports.commit) }));
    },
  };
}

const pay = defineTool({
  id: "pay",
  description: "",
  input: z.object({}),
  approve: () => ask("Pay?"),
  execute: () => "paid",
});

/** Asks for the tool when the last message is the user's `pay`, otherwise answers. */
const model: Provider = {
  name: "model",
  async *stream({ messages }) {
    const last = messages.at(-1);
    const isPay = last?.role === "user" && last.content.some((part) => part.type === "text" && part.text === "pay");
    if (isPay) yield { type: "tool-call-start", id: "c1", name: "pay" };
    else yield { type: "text-delta", delta: "ok" };
    yield { type: "stop", reason: isPay ? "tool-use" : "end-turn" };
  },
};

const open = (store: Store | undefined, provider = model) =>
  createRuntime({
    providers: { model: provider },
    models: { fast: { provider: "model", model: "m" } },
    agents: { default: { model: "fast", sections: { retry: { maxRetries: 0 } } } },
    tools: [pay],
    log: SILENT,
    clock: instantClock(),
    ...(store === undefined ? {} : { store }),
  });

/** Suspends, decides and answers; every step may fail. */
async function scenario(runtime: Runtime, more: Partial<RunRequest> = {}): Promise<readonly string[]> {
  const outcomes: string[] = [];
  const attempt = async (what: () => Promise<unknown>) => {
    try {
      await what();
      outcomes.push("ok");
    } catch (thrown) {
      outcomes.push(AwakenError.is(thrown) ? thrown.code : String(thrown));
    }
  };
  const first = runtime.stream({ thread: "t", input: "pay", ...more });
  await attempt(() => first.result);
  await attempt(() => runtime.decide("c1", { action: "approve", id: "d1", run: first.id }));
  await attempt(() => runtime.wait(first.id, { timeoutMs: 1_000 }));
  await attempt(async () => {
    const stream = runtime.stream({ thread: "t", input: "hello", ...more });
    for await (const _event of stream);
    await stream.result;
  });
  await attempt(() => runtime.cancel("t"));
  await attempt(() => runtime.cancelAndWait("t"));
  return outcomes;
}

async function expectLegal(store: Store): Promise<void> {
  const { items } = await store.runs.list({ threadId: threadId("t") });
  for (const run of items) {
    expect(RUN_STATUSES).toContain(run.status);
    if (run.status === "done") expect(run.finishedAt).toBeGreaterThanOrEqual(run.createdAt);
  }
  const { items: rows } = await store.messages.list(threadId("t"), {});
  expect(new Set(rows.map(({ message }) => message.id)).size).toBe(rows.length);
}

/** Answers that are lost: the n-th commit throws, after it was written or before. */
function forgetful(store: Store, at: number, isWritten: boolean): Store {
  let commits = 0;
  const commit: Store["commit"] = async (change) => {
    commits += 1;
    if (commits !== at) return store.commit(change);
    if (isWritten) await store.commit(change);
    throw new AwakenError("commit_unknown", "the connection was lost");
  };
  return { ...store, commit };
}

describe("whatever fails", () => {
  it.each([true, false])(
    "a commit whose answer was lost is looked up and not written twice (it had been written: %s)",
    async (isWritten) => {
      for (let at = 1; at <= 3; at++) {
        const store = memoryStore();
        const runtime = open(forgetful(store, at, isWritten));
        const first = await runtime.run({ thread: "t", input: "pay" });
        expect(first).toMatchObject({ status: "waiting" });
        await runtime.decide("c1", { action: "approve", run: first.runId });
        expect(await runtime.wait(first.runId)).toMatchObject({ status: "done", text: "ok" });
        const { items } = await store.messages.list(threadId("t"), {});
        expect(items.map(({ message }) => message.role)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
      }
    },
  );

  it("core-execution 60: a message that somebody else commits meanwhile and those of the run both stay, in the order of the log", async () => {
    const memory = memoryStore();
    let isDone = false;
    const store: Store = {
      ...memory,
      async commit(change) {
        const { run, threadId: thread, runId } = change;
        if (run?.status === "done" && !isDone) {
          isDone = true;
          const foreign = { id: messageId("foreign"), role: "user", content: [{ type: "text", text: "me too" }] } as const;
          const expectedMessageCount = await memory.messages.count(thread);
          const { fence } = change;
          if (fence === undefined) throw new Error("a run that ends has its thread");
          await memory.commit({ threadId: thread, runId, fence, messageDelta: { messages: [foreign], expectedMessageCount } });
        }
        return memory.commit(change);
      },
    };
    expect(await open(store).run({ thread: "t", input: "hello" })).toMatchObject({ status: "done", text: "ok" });
    const { items } = await memory.messages.list(threadId("t"), {});
    expect(items.map(({ message }) => messageText(message))).toEqual(["hello", "me too", "ok"]);
  });

  it("a store that fails at any of its calls leaves no slot taken, and the thread goes on when the store is well again", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    let calls = 0;
    let failing = 0;
    const memories: string[] = [];
    do {
      failing += 1;
      calls = 0;
      let isBroken = true;
      const memory = memoryStore();
      const store = watched(memory, () => {
        calls += 1;
        if (isBroken && calls === failing) throw new AwakenError("storage_io", `call ${failing} fails`);
      });
      const runtime = open(store);
      memories.push((await scenario(runtime)).join(" "));
      isBroken = false;
      expect(await runtime.run({ thread: "t", input: "still there?" })).toMatchObject({ text: "ok", status: "done" });
      await expectLegal(memory);
    } while (failing <= calls && failing < 100);
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
    expect(failing).toBeGreaterThan(12);
    expect(memories.at(-1)).toBe("ok ok ok ok ok ok");
  });

  it("an abort at any call of the store ends the run, frees the thread and leaves no listener", async () => {
    let calls = 0;
    for (let at = 1; at <= 40; at++) {
      calls = 0;
      const { controller, counts } = countedSignal();
      const memory = memoryStore();
      const store = watched(memory, () => {
        calls += 1;
        if (calls === at) controller.abort("enough");
      });
      const runtime = open(store);
      await scenario(runtime, { signal: controller.signal });
      expect(counts.open).toBe(0);
      expect(await runtime.run({ thread: "t", input: "still there?" })).toMatchObject({ text: "ok", status: "done" });
      await expectLegal(memory);
    }
  });

  it("a provider that throws ends the run with the reason, and the thread is free", async () => {
    const broken: Provider = {
      name: "broken",
      stream() {
        throw new Error("no route");
      },
    };
    const runtime = open(undefined, broken);
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({
      status: "failed",
      error: { code: "inference_provider", message: "provider error: no route" },
    });
    expect(await runtime.run({ thread: "t", input: "x" })).toMatchObject({
      status: "failed",
      error: { code: "inference_provider", message: "provider error: no route" },
    });
  });

  it("run and stream tell the same: what is wrong before the run begins rejects, in the iteration and in the result", async () => {
    const runtime = open(undefined);
    const wrong: readonly (readonly [RunRequest, string])[] = [
      [{ input: "x", thread: " " }, "invalid_activation"],
      [{ input: "x", agent: "" }, "invalid_activation"],
      [{ input: "x", runId: " " }, "invalid_activation"],
      [{ thread: "t" }, "invalid_activation"],
      [{ thread: "t", input: [] }, "invalid_activation"],
      [{ input: "x", overrides: JSON.parse('{"temperature":"hot"}') }, "invalid_activation"],
      [{ input: "x", trace: JSON.parse('{"origin":"mars"}') }, "invalid_activation"],
      [{ input: "x", trace: { correlationId: "" } }, "invalid_activation"],
      [{ input: JSON.parse('[{"role":"tool","content":"x"}]') }, "invalid_activation"],
      [{ input: JSON.parse('[{"role":"user","content":7}]') }, "invalid_activation"],
      [{ input: JSON.parse("7") }, "invalid_activation"],
      [{ input: "x", frontendTools: JSON.parse('[{"id":"a","description":""}]') }, "invalid_activation"],
      [{ resume: "r" }, "invalid_activation"],
      [{ thread: "t", resume: "r", runId: "r" }, "invalid_activation"],
      [{ thread: "t", input: "x", decisions: [{ ticket: "c", decision: { action: "deny" } }] }, "invalid_activation"],
      [{ thread: "t", resume: "r" }, "invalid_resume"],
      [{ input: "x", agent: "nobody" }, "agent_not_found"],
    ];
    for (const [request, code] of wrong) {
      await expect(runtime.run(request), JSON.stringify(request)).rejects.toMatchObject({ code });
      const stream = runtime.stream(request);
      expect([typeof stream.id, typeof stream.threadId]).toEqual(["string", "string"]);
      await expect(
        (async () => {
          for await (const _event of stream);
        })(),
      ).rejects.toMatchObject({ code });
      await expect(stream.result).rejects.toMatchObject({ code });
    }
    runtime.stream({ thread: "t" });
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("leaving the events only detaches: the run goes on to its end", async () => {
    const gate = Promise.withResolvers<void>();
    const slow: Provider = {
      name: "slow",
      async *stream() {
        yield { type: "text-delta", delta: "a" };
        await gate.promise;
        yield { type: "text-delta", delta: "b" };
        yield { type: "stop", reason: "end-turn" };
      },
    };
    const run = open(undefined, slow).stream({ thread: "t", input: "x" });
    for await (const event of run) if (event.type === "text-delta") break;
    gate.resolve();
    expect(await run.result).toMatchObject({ text: "ab", termination: { type: "natural-end" } });
  });

  it("an answer that has to fit a schema comes back typed as the schema gives it", async () => {
    const json: Provider = {
      name: "json",
      async *stream() {
        yield { type: "text-delta", delta: '{"day":"2026-01-02"}' };
        yield { type: "stop", reason: "end-turn" };
      },
    };
    const output = z.object({ day: z.string().transform((day) => day.length) });
    const result = await open(undefined, json).run({ input: "x", output });
    const day: number | undefined = result.output?.day;
    expect([day, result.text]).toEqual([10, '{"day":"2026-01-02"}']);
  });
});
