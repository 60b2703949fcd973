import { contextPolicySchema, type Message, messageToolCalls } from "@awaken/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { compaction } from "../builtin/compaction/compaction.ts";
import { contextWindow } from "../builtin/context-window/context-window.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { pendingWork } from "../state/pending-work.ts";
import { Queue } from "../stream/queue.ts";
import { countingIds, fakeClock } from "../testing/fake-clock.ts";
import { decide, runScripted, userMessage } from "../testing/run-scripted.ts";
import { text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ThreadLog } from "../testing/thread-log.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";
import type { AddressedDecision } from "./run-context.ts";

const nothing = z.object({});

/** A signal that counts who listens to it. */
function watchedController() {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  const live = new Set<unknown>();
  signal.addEventListener = (type: string, listener: EventListenerOrEventListenerObject, options?: AddEventListenerOptions | boolean) => {
    live.add(listener);
    listeners += 1;
    add(type, listener, options);
  };
  signal.removeEventListener = (type: string, listener: EventListenerOrEventListenerObject) => {
    live.delete(listener);
    remove(type, listener);
  };
  add("abort", () => live.clear());
  return { controller, left: () => live.size, seen: () => listeners };
}

const policy = contextPolicySchema.parse({
  maxContextTokens: 4_000,
  maxOutputTokens: 100,
  minRecentMessages: 2,
  autocompactThreshold: 1_200,
  compactionRawSuffixMessages: 1,
});

/** Parallel tools, an approval that is decided while the run lives, a long stream, and a compaction in the background. */
function richRun(signal: AbortSignal) {
  const clock = fakeClock();
  const ids = countingIds("m");
  const thread = new ThreadLog();
  const tools = [
    defineTool({ id: "fast", description: "", input: nothing, execute: async () => "fast" }),
    defineTool({
      id: "slow",
      description: "",
      input: nothing,
      execute: async (_input, { progress }) => {
        for (let i = 0; i < 5; i++) await Promise.resolve(progress({ progress: i / 5 }));
        return reply("slow", { command: command().update(pendingWork, false) });
      },
    }),
    defineTool({ id: "asks", description: "", input: nothing, approve: async () => ask("ok?"), execute: async () => "approved" }),
  ];
  const hooks = definePlugin({
    id: "hooks",
    register(r) {
      for (const phase of [
        "runStart",
        "stepStart",
        "beforeInference",
        "afterInference",
        "beforeToolExecute",
        "afterToolExecute",
        "stepEnd",
        "runEnd",
      ] as const) {
        r.hook(phase, async () => {
          await Promise.resolve();
        });
      }
      r.gate(async () => undefined);
    },
  });
  const summaries = scripted(Array.from({ length: 20 }, () => text("summary")));
  const decisionQueue = new Queue<readonly AddressedDecision[]>();
  decisionQueue.push([decide("a1", { action: "approve" })]);
  const long = Array.from({ length: 30 }, (_, index) => `word ${index} `);
  const history: Message[] = Array.from({ length: 6 }, (_, index) => userMessage("history ".repeat(120), `u${index}`));
  const model = scripted([
    toolCalls(
      [
        { name: "fast", input: {}, id: "f1" },
        { name: "asks", input: {}, id: "a1" },
        { name: "slow", input: {}, id: "s1" },
      ],
      { say: "working" },
    ),
    text(...long),
  ]);
  const run = runScripted({
    model,
    tools,
    plugins: [hooks],
    runtimePlugins: [compaction({ policy, provider: summaries, model: "small", ids }), contextWindow(policy)],
    spec: { contextPolicy: policy },
    thread,
    ids,
    clock,
    signal,
    decisionQueue,
    input: history,
  });
  return { run, thread, clock, summaries };
}

function checkPairs(messages: readonly Message[]): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") expect(open.shift()).toBe(message.toolCallId);
    else {
      expect(open).toEqual([]);
      open = messageToolCalls(message).map((call) => call.id);
    }
  }
  expect(open).toEqual([]);
}

/** Lets `count` microtasks pass, or stops when the promise is settled. */
async function ticks(count: number, until: Promise<unknown>): Promise<number> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  until.then(settle, settle);
  let passed = 0;
  while (passed < count && !isSettled) {
    await Promise.resolve();
    passed += 1;
  }
  return passed;
}

describe("abort at every await", () => {
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => unhandled.push(reason);
  beforeAll(() => {
    process.on("unhandledRejection", onUnhandled);
  });
  afterAll(() => {
    process.off("unhandledRejection", onUnhandled);
  });

  it("one rich run: each time one terminal event, a valid history, no timer, no listener, no unhandled rejection", async () => {
    const whole = richRun(new AbortController().signal);
    const total = await ticks(100_000, whole.run);
    const { result, events } = await whole.run;
    expect(result.termination).toEqual({ type: "natural-end" });
    expect(events.some((event) => event.type === "tool-call-resumed")).toBe(true);
    expect(whole.summaries.requests.length).toBeGreaterThan(0);
    expect(total).toBeGreaterThan(200);

    const terminations = new Map<string, number>();
    for (let at = 0; at <= total; at++) {
      const { controller, left, seen } = watchedController();
      const { run, thread, clock } = richRun(controller.signal);
      await ticks(at, run);
      controller.abort(new Error("stop"));
      const aborted = await run;
      await new Promise((resolve) => setImmediate(resolve));
      expect(
        aborted.events.filter((event) => event.type === "run-end"),
        `aborted at ${at}`,
      ).toHaveLength(1);
      expect(aborted.result.status, `aborted at ${at}`).toBe("done");
      expect(aborted.result.tickets).toEqual([]);
      checkPairs(thread.history().messages.map((row) => row.message));
      expect(clock.pendingTimers, `timers after an abort at ${at}`).toBe(0);
      expect(left(), `listeners after an abort at ${at} (${seen()} seen)`).toBe(0);
      const { type } = aborted.result.termination;
      terminations.set(type, (terminations.get(type) ?? 0) + 1);
    }
    expect(unhandled).toEqual([]);
    expect([...terminations.keys()].sort()).toEqual(["cancelled", "natural-end"]);
    expect(terminations.get("cancelled")).toBeGreaterThan(total * 0.8);
  }, 120_000);

  it("a run that is never aborted leaves no listener either", async () => {
    const { controller, left, seen } = watchedController();
    const { run, clock } = richRun(controller.signal);
    await run;
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen()).toBeGreaterThan(0);
    expect(left()).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
