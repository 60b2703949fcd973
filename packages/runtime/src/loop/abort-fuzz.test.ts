import { type Message, messageToolCalls } from "@awaken/contract";
import { effectiveMessages } from "@awaken/contract/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as z from "zod";
import { compaction } from "../builtin/compaction/compaction.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { Queue } from "../stream/queue.ts";
import { countingIds, instantClock } from "../testing/fake-clock.ts";
import { decide, eventTypes, runScripted, userMessage } from "../testing/run-scripted.ts";
import { slow, text, toolCall, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ThreadLog } from "../testing/thread-log.ts";
import { defineTool } from "../tool/define-tool.ts";
import { ask } from "../tool/verdict.ts";
import type { AddressedDecision } from "./decisions/addressed-decision.ts";

const nothing = z.object({});
const tick = () => Promise.resolve();

/** Aborts after this many macrotasks and, within the next, microtasks: between any two awaits there is a microtask. */
function abortAfter(controller: AbortController, macrotasks: number, microtasks: number): void {
  const inMicrotasks = (left: number): void => {
    if (left === 0) controller.abort();
    else queueMicrotask(() => inMicrotasks(left - 1));
  };
  const inMacrotasks = (left: number): void => {
    if (left === 0) inMicrotasks(microtasks);
    else setImmediate(() => inMacrotasks(left - 1));
  };
  inMacrotasks(macrotasks);
}

const waiting = definePlugin({
  id: "waiting",
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
      r.hook(phase, tick);
    }
    r.gate(tick);
  },
});

const policy = {
  maxContextTokens: 200_000,
  maxOutputTokens: 16_384,
  minRecentMessages: 2,
  enablePromptCache: false,
  autocompactThreshold: 1_000,
  compactionMode: "keep-recent-raw-suffix",
  compactionRawSuffixMessages: 2,
} as const;

const long = (id: string) => userMessage("words ".repeat(1_500), id);

/** Counts the listeners that are on the signal. */
function watched(signal: AbortSignal): { readonly listeners: () => number } {
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  const seen = new Set<unknown>();
  Object.assign(signal, {
    addEventListener(...args: Parameters<typeof addEventListener>) {
      listeners += 1;
      seen.add(args[1]);
      addEventListener.apply(signal, args);
    },
    removeEventListener(...args: Parameters<typeof removeEventListener>) {
      if (seen.delete(args[1])) listeners -= 1;
      removeEventListener.apply(signal, args);
    },
  });
  return { listeners: () => listeners };
}

/** Parallel tools, a suspension that is decided, a slow stream, and a compaction. */
async function richRun(controller: AbortController) {
  const clock = instantClock();
  const late: { keep?: (batch: readonly AddressedDecision[]) => boolean } = {};
  const inbox = new Queue<InboxItem>();
  const thread = new ThreadLog();
  const quick = defineTool({ id: "quick", description: "", input: nothing, execute: tick });
  const timed = defineTool({
    id: "timed",
    description: "",
    input: nothing,
    timeoutMs: 1_000,
    execute: (_input, { signal }) =>
      new Promise<string>((resolve, reject) => {
        const stop = clock.timer(20, () => resolve("late"));
        signal.addEventListener("abort", () => {
          stop();
          reject(new Error("stopped"));
        });
      }),
  });
  const asks = defineTool({ id: "asks", description: "", input: nothing, approve: async () => ask("?"), execute: tick });
  const calls = ["quick", "timed", "asks"].map((name) => ({ name, input: {}, id: `call-${name}` }));
  const summaries = compaction({ policy, provider: scripted([slow(text("short"), 3)], { clock }), model: "m", ids: countingIds("sum") });
  const signal = watched(controller.signal);
  const run = await runScripted({
    input: [long("u1"), long("u2"), userMessage("go", "u3")],
    model: scripted([slow(toolCalls(calls, { say: "let me see" }), 2), toolCall("quick", {}), slow(text("all ", "is ", "done"), 5)], {
      clock,
    }),
    tools: [quick, timed, asks],
    plugins: [waiting],
    runtimePlugins: [summaries],
    clock,
    thread,
    inbox,
    signal: controller.signal,
    onEvent(event, keep) {
      late.keep = keep;
      if (event.type === "tool-call-ready" && event.toolCallId === "call-asks") keep([decide("call-asks", { action: "approve" })]);
    },
  });
  // A summary that was on its way hears of the end in its own time.
  for (let wait = 0; wait < 5; wait++) await new Promise((resolve) => setImmediate(resolve));
  return { ...run, clock, listeners: signal.listeners(), isClosed: inbox.isClosed && late.keep?.([]) !== true };
}

function expectPaired(messages: readonly Message[]): void {
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

describe("abort fuzz", () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  beforeEach(() => {
    process.on("unhandledRejection", note);
  });
  afterEach(() => {
    process.off("unhandledRejection", note);
    expect(unhandled.splice(0)).toEqual([]);
  });

  it("the run without an abort does what it should", async () => {
    const { result, thread, events } = await richRun(new AbortController());
    expect(result).toMatchObject({ text: "all is done", termination: { type: "natural-end" } });
    expect(thread.said.some((message) => message.role === "system")).toBe(true);
    expect(eventTypes(events).filter((type) => type === "run-end")).toHaveLength(1);
  });

  it("an abort at any await: one terminal event, a valid history, nothing left behind", async () => {
    const endings = new Map<string, number>();
    for (let macrotasks = 0; macrotasks < 40; macrotasks++) {
      for (let microtasks = 0; microtasks < 24; microtasks++) {
        const controller = new AbortController();
        abortAfter(controller, macrotasks, microtasks);
        const { result, events, thread, clock, listeners, isClosed } = await richRun(controller);
        const at = `${macrotasks}.${microtasks}`;
        expect(["cancelled", "natural-end"], at).toContain(result.termination.type);
        expect(result.status, at).toBe("done");
        expect(result.tickets, at).toEqual([]);
        expect(
          events.filter((event) => event.type === "run-end" && event.result !== undefined),
          at,
        ).toHaveLength(1);
        expect(thread.run?.status, at).toBe("done");
        expectPaired(effectiveMessages(thread.rows).map((entry) => entry.message));
        expect(clock.pendingTimers, at).toBe(0);
        expect(isClosed, at).toBe(true);
        // Those of an abort that happened took themselves away.
        if (result.termination.type === "natural-end") expect(listeners, at).toBe(0);
        endings.set(result.termination.type, (endings.get(result.termination.type) ?? 0) + 1);
      }
    }
    expect(endings.get("cancelled")).toBeGreaterThan(100);
  });
});
