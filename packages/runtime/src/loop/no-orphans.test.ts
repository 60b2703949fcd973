import { type InferenceRequest, type Message, messageToolCalls, type RunId } from "@awaken/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { definePlugin } from "../plugin/define-plugin.ts";
import { countingIds, instantClock } from "../testing/fake-clock.ts";
import { decide, runScripted } from "../testing/run-scripted.ts";
import { parts, type ScriptedTurn, text, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ThreadLog } from "../testing/thread-log.ts";
import { defineTool } from "../tool/define-tool.ts";
import { wait } from "../tool/reply.ts";
import { ask, block } from "../tool/verdict.ts";
import type { AddressedDecision } from "./decisions/addressed-decision.ts";

/** Throws unless every call has exactly one result right behind its message, and every result has its call. */
function checkPairs(messages: readonly Message[]): void {
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") {
      expect(message.visibility, "a retraction marker reached the model").toBeUndefined();
      expect(open.shift(), "a result without its call, or out of order").toBe(message.toolCallId);
      continue;
    }
    expect(open, "a call without a result").toEqual([]);
    open = messageToolCalls(message).map((call) => call.id);
  }
  expect(open, "a call without a result at the end").toEqual([]);
}

const nothing = z.object({});
const KINDS = ["ok", "throws", "waits", "asks", "blocked", "unknown", "twice", "strict"] as const;
type Kind = (typeof KINDS)[number];

const tools = [
  defineTool({ id: "ok", description: "", input: nothing, execute: async () => "fine" }),
  defineTool({
    id: "throws",
    description: "",
    input: nothing,
    execute: async () => {
      throw new Error("no");
    },
  }),
  defineTool({
    id: "waits",
    description: "",
    input: nothing,
    execute: (_input, { resume }) => (resume === undefined ? wait({ action: "confirm" }) : "resumed"),
  }),
  defineTool({ id: "asks", description: "", input: nothing, approve: () => ask("may I?"), execute: () => "approved" }),
  defineTool({ id: "blocked", description: "", input: nothing, execute: () => "never" }),
  defineTool({
    id: "twice",
    description: "",
    input: nothing,
    execute: (_input, { resume }) =>
      resume?.suspension.action === "second" ? "at last" : wait({ action: resume === undefined ? "first" : "second" }),
  }),
  defineTool({ id: "strict", description: "", input: z.object({ n: z.number() }), execute: ({ n }) => n }),
];

const gate = definePlugin({
  id: "gate",
  register(r) {
    r.gate(({ call }) => (call.name === "blocked" ? block("forbidden") : undefined));
  },
});

type Turn =
  | { readonly type: "text" }
  | { readonly type: "calls"; readonly kinds: readonly Kind[]; readonly isCut: boolean }
  | { readonly type: "malformed" };

const turn: fc.Arbitrary<Turn> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ type: "text" } as const) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("calls" as const),
      kinds: fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 4 }),
      isCut: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ type: "malformed" } as const) },
);

const activation = fc.record({
  turns: fc.array(turn, { maxLength: 4 }),
  /** What happens to a waiting run: it is decided in part, or a new message comes. */
  decisions: fc.array(fc.constantFrom("approve", "deny", "answer", "skip"), { minLength: 4, maxLength: 4 }),
  hasMessage: fc.boolean(),
  abortAt: fc.option(fc.nat(25), { nil: undefined }),
  isSequential: fc.boolean(),
});

function toTurn(plan: Turn, repeatIds: boolean): ScriptedTurn {
  switch (plan.type) {
    case "text":
      return text("said");
    case "malformed":
      return parts(
        { type: "tool-call-start", id: "m", name: "ok" },
        { type: "tool-call-delta", id: "m", delta: "{" },
        { type: "stop", reason: "tool-use" },
      );
    case "calls": {
      // Some vendors number the calls of each answer from the start.
      const whole = toolCalls(
        plan.kinds.map((name, index) => ({ name, input: {}, ...(repeatIds ? { id: `call_${index}` } : {}) })),
        { say: "hm" },
      );
      return plan.isCut ? { items: [...whole.items.slice(0, -3), { type: "throw", error: new Error("connection reset") }] } : whole;
    }
  }
}

function decisionsFor(tickets: readonly { readonly id: string }[], actions: readonly string[], salt: string): AddressedDecision[] {
  return tickets.flatMap((ticket, index) => {
    const id = `${salt}-${ticket.id}`;
    switch (actions[index % actions.length]) {
      case "approve":
        return [decide(ticket.id, { action: "approve" }, id)];
      case "deny":
        return [decide(ticket.id, { action: "deny", reason: "no" }, id)];
      case "answer":
        return [decide(ticket.id, { action: "answer", result: "given" }, id)];
      default:
        return [];
    }
  });
}

describe("one visible result per call", () => {
  it("random steps, suspensions, decisions, cancels and messages never show the model an orphan, and events keep their order", async () => {
    let requests = 0;
    const property = fc.asyncProperty(
      fc.array(activation, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      async (activations, repeatIds) => {
        const thread = new ThreadLog();
        const ids = countingIds("m");
        let waiting: { readonly runId: RunId; readonly tickets: readonly { readonly id: string }[] } | undefined;
        for (const [round, plan] of activations.entries()) {
          const controller = new AbortController();
          let seen = 0;
          const steps = [...plan.turns.map((each) => toTurn(each, repeatIds)), ...Array.from({ length: 40 }, () => text("end"))];
          const model = scripted(steps);
          const watched = {
            ...model,
            stream(request: InferenceRequest, options: { readonly signal: AbortSignal }) {
              requests += 1;
              checkPairs(request.messages);
              return model.stream(request, options);
            },
          };
          const decisions = waiting === undefined ? [] : decisionsFor(waiting.tickets, plan.decisions, `r${round}`);
          const isResume = waiting !== undefined && !(plan.hasMessage && decisions.length === 0);
          const { result } = await runScripted({
            model: watched,
            tools,
            plugins: [gate],
            thread,
            ids,
            clock: instantClock(),
            signal: controller.signal,
            spec: { toolExecution: plan.isSequential ? "sequential" : "parallel", maxSteps: 6 },
            ...(isResume && waiting !== undefined ? { resume: waiting.runId, decisions } : { input: "go on" }),
            onEvent: () => {
              seen += 1;
              if (seen === plan.abortAt) controller.abort();
            },
          });
          waiting = result.status === "waiting" ? { runId: result.runId, tickets: result.tickets } : undefined;
          checkPairs(thread.history().messages.map((row) => row.message));
        }
      },
    );
    await fc.assert(property, { numRuns: 500, timeout: 120_000 });
    expect(requests).toBeGreaterThan(1_000);
  });
});
