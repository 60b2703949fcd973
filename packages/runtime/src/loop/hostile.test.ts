import { type AgentEvent, type Message, messageId, messageToolCalls, type ToolDescriptor } from "@awaken/contract";
import type { ThreadCommit } from "@awaken/contract/store";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { CommitStore } from "../commit/commit-store.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import type { InboxItem } from "../plugin/inbox.ts";
import { pendingWork } from "../state/pending-work.ts";
import { Queue } from "../stream/queue.ts";
import { fakeClock, instantClock } from "../testing/fake-clock.ts";
import { decide, eventTypes, runScripted, type ScriptedRunInit, userMessage } from "../testing/run-scripted.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { ThreadLog } from "../testing/thread-log.ts";
import { defineTool, type ToolInit } from "../tool/define-tool.ts";
import { fail, Reply, reply, wait } from "../tool/reply.ts";
import type { Tool } from "../tool/tool.ts";
import { answer, ask, suspend, type Verdict } from "../tool/verdict.ts";

const nothing = z.object({});

/** What untyped code may hand in where a type is asked for. */
const untyped = <T>(value: unknown): T => value as T;

const simple = (id: string, more: Partial<ToolInit<Record<string, never>, unknown>> = {}) =>
  defineTool({ id, description: "", input: nothing, execute: () => "fine" as unknown, ...more });

const cyclic = (): unknown => {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
};

/** Each call in the log has at least one result behind it. */
function expectAnswered(messages: readonly Message[]): void {
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") open.delete(message.toolCallId);
    for (const call of messageToolCalls(message)) open.add(call.id);
  }
  expect([...open]).toEqual([]);
}

const results = (messages: readonly Message[]) =>
  messages.flatMap((message) =>
    message.role === "tool" ? [[message.status, ...message.content.map((part) => (part.type === "text" ? part.text : ""))]] : [],
  );

class Money {
  readonly cents = 5;
}

describe("tools that return what JSON would lose", () => {
  it.each<[string, unknown, string]>([
    ["a Map", new Map([["a", 1]]), "a Map"],
    ["a Set in a list", { all: [1, new Set([1])] }, "a Set at 'all.1'"],
    ["an Error", new Error("x"), "a Error"],
    ["an instance of a class", { price: new Money() }, "a Money at 'price'"],
    ["a cycle", cyclic(), "a value that holds itself"],
    ["a BigInt", { n: 1n }, "a bigint at 'n'"],
    ["a function", { f: () => 1 }, "a function at 'f'"],
    ["a NaN", { n: Number.NaN }, "NaN at 'n'"],
  ])("core-execution 93: %s fails the call, with a message that names the tool and the place", async (_name, value, what) => {
    const { events } = await runScripted({ turns: [toolCall("odd", {}), text("done")], tools: [simple("odd", { execute: () => value })] });
    const [end] = events.flatMap((event) => (event.type === "tool-call-end" ? [event] : []));
    expect(end).toMatchObject({ outcome: "failed", result: { type: "error" } });
    expect(JSON.stringify(end?.result)).toContain(`tool 'odd' returned what is no JSON: ${what}`);
  });

  it.each<[string, () => unknown, string]>([
    ["a Map as its data", () => reply(untyped(new Map([["a", 1]]))), "a Map"],
    ["a Set deep in its data, beside a text", () => reply(untyped({ all: [new Set([1])] }), { message: "all of it" }), "a Set at 'all.0'"],
    ["an Error as its data", () => reply(untyped(new Error("x"))), "a Error"],
    ["an instance of a class", () => reply(untyped({ price: new Money() })), "a Money at 'price'"],
    ["a cycle", () => reply(untyped(cyclic())), "a value that holds itself at 'self'"],
    ["a BigInt", () => reply(untyped({ n: 1n })), "a bigint at 'n'"],
    ["a Map in its metadata", () => reply(1, { metadata: untyped({ seen: new Map() }) }), "a Map at 'seen'"],
    ["a Map in what a failure tells", () => fail("x", "no", { metadata: untyped({ seen: new Map() }) }), "a Map at 'seen'"],
    ["a Map in what it asks", () => wait(untyped({ action: "a", parameters: { seen: new Map() } })), "a Map at 'seen'"],
    ["an instance of a class in its media", () => reply(1, { media: untyped([new Money()]) }), "a Money at '0'"],
  ])("core-execution 93: a reply with %s fails the call, and the message names the tool", async (_name, give, what) => {
    const { events, thread } = await runScripted({
      turns: [toolCall("odd", {}), text("done")],
      tools: [simple("odd", { execute: give })],
    });
    const [end] = events.flatMap((event) => (event.type === "tool-call-end" ? [event] : []));
    expect(end).toMatchObject({ outcome: "failed", result: { type: "error" } });
    expect(results(thread.said)).toEqual([["error", `Internal error: tool 'odd' returned what is no JSON: ${what}`]]);
  });

  it("core-execution 93: an approval that answers, or asks with, what is no JSON fails the call and names the tool", async () => {
    const answers: readonly Verdict[] = [answer(untyped(new Map())), suspend(untyped({ action: "a", parameters: new Map() }))];
    for (const verdict of answers) {
      const tools = [simple("odd", { approve: () => verdict })];
      const { thread } = await runScripted({ turns: [toolCall("odd", {}), text("done")], tools });
      expect(results(thread.said)).toEqual([["error", expect.stringContaining("tool 'odd' returned what is no JSON: a Map")]]);
    }
  });

  it("core-execution 93: a Date, undefined and properties without a value are JSON enough", async () => {
    const value = { at: new Date(0), gone: undefined };
    const { events } = await runScripted({ turns: [toolCall("odd", {}), text("done")], tools: [simple("odd", { execute: () => value })] });
    expect(events).toContainEqual(
      expect.objectContaining({ type: "tool-call-end", result: { type: "success", data: { at: "1970-01-01T00:00:00.000Z" } } }),
    );
  });
});

describe("tools that give what nobody can use", () => {
  const cases: readonly (readonly [string, () => unknown])[] = [
    ["a cyclic object", cyclic],
    ["a BigInt", () => 1n],
    ["a function", () => () => 1],
    ["a reply with a cyclic object", () => reply(untyped(cyclic()))],
    ["a reply with a BigInt inside", () => reply(untyped({ n: 1n }))],
    ["a reply without data", () => reply(untyped(undefined))],
    ["a reply of no known type", () => new Reply(untyped({ type: "odd" }), undefined)],
    ["a reply without a result", () => new Reply(untyped(undefined), undefined)],
    ["a failure without a text", () => fail("x", untyped(undefined))],
    ["a suspension with cyclic parameters", () => wait(untyped({ action: "a", parameters: cyclic() }))],
    ["a suspension without an action", () => wait(untyped({}))],
    ["a suspension whose id is a number", () => wait(untyped({ action: "a", id: 7 }))],
    ["a suspension of an unknown mode", () => wait(untyped({ action: "a", resumeMode: "odd" }))],
    ["no suspension at all", () => wait(untyped(undefined))],
    ["a command that is none", () => reply(1, { command: untyped({ odd: true }) })],
  ];
  it.each(cases)("%s is a result, and the thread can be read again", async (_name, give) => {
    const turns = [
      toolCalls([
        { name: "odd", input: {}, id: "c1" },
        { name: "ok", input: {}, id: "c2" },
      ]),
      text("done"),
    ];
    const { result, thread } = await runScripted({ turns, tools: [simple("odd", { execute: give }), simple("ok")] });
    expect(result.termination).toEqual({ type: "natural-end" });
    expectAnswered(thread.said);
    const again = await runScripted({ turns: [text("again")], thread });
    expect(again.result.text).toBe("again");
  });

  it("a hand-made tool that throws at once, or gives nothing, is a failed call", async () => {
    const made = (execute: () => unknown): Tool => {
      const tool = simple("odd");
      return { ...tool, descriptor: tool.descriptor, prepare: () => ({ type: "valid", value: untyped({ input: {}, execute }) }) };
    };
    const throws = () => {
      throw new Error("at once");
    };
    for (const execute of [throws, async () => undefined, () => undefined]) {
      const { result, thread } = await runScripted({ turns: [toolCall("odd", {}), text("done")], tools: [made(execute)] });
      expect(result.termination).toEqual({ type: "natural-end" });
      expectAnswered(thread.said);
    }
  });

  it("a tool whose prepare or approve throws, or that says no known verdict, does not run and does not end the run", async () => {
    const ran: string[] = [];
    const execute = () => {
      ran.push("ran");
      return "x";
    };
    const boom = () => {
      throw new Error("boom");
    };
    const own = simple("odd", { execute });
    const tools: readonly Tool[] = [
      simple("odd", { execute, approve: boom }),
      simple("odd", { execute, approve: async () => boom() }),
      simple("odd", { execute, approve: untyped(() => true) }),
      { ...own, descriptor: own.descriptor, prepare: boom },
      { ...own, descriptor: own.descriptor, prepare: async () => boom() },
    ];
    for (const tool of tools) {
      const { result, thread } = await runScripted({ turns: [toolCall("odd", {}), text("done")], tools: [tool] });
      expect(result.termination).toEqual({ type: "natural-end" });
      expect(results(thread.said)).toMatchObject([["error", expect.stringContaining(tool.prepare === boom ? "boom" : "")]]);
    }
    expect(ran).toEqual([]);
  });

  it("throws that are no errors are texts", async () => {
    for (const thrown of [undefined, null, 7, "text", { odd: true }, cyclic(), Symbol("s"), Object.create(null)]) {
      const odd = simple("odd", {
        execute: () => {
          throw thrown;
        },
      });
      const { result, thread } = await runScripted({ turns: [toolCall("odd", {}), text("done")], tools: [odd] });
      expect(result.termination).toEqual({ type: "natural-end" });
      expect(results(thread.said)[0]?.[0]).toBe("error");
    }
  });

  it("a gate that suspends with what cannot be stored has failed, and leaves no open call", async () => {
    const gate = definePlugin({ id: "gate", register: (r) => r.gate(() => suspend(untyped({ action: "a", parameters: cyclic() }))) });
    const { result, thread } = await runScripted({ turns: [toolCall("odd", {}), text("done")], tools: [simple("odd")], plugins: [gate] });
    expect(result.termination).toMatchObject({ type: "error", code: "hook_failed" });
    expectAnswered(thread.said);
  });
});

describe("reports that come late", () => {
  it("after its timeout and after the run, a tool tells nobody anything", async () => {
    const late = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const slow = simple("slow", {
      timeoutMs: 10,
      execute: async (_input, ctx) => {
        ctx.output("early");
        await late.promise;
        ctx.output("late");
        ctx.progress({ progress: 1 });
        ctx.activity("late", null);
        ended.resolve();
        return "late";
      },
    });
    const events: AgentEvent[] = [];
    const done = () => {
      late.resolve();
      return text("done");
    };
    const model = [toolCall("slow", {}), done];
    const run = await runScripted({ turns: model, tools: [slow], clock: instantClock(), onEvent: (event) => events.push(event) });
    await ended.promise;
    expect(run.result.text).toBe("done");
    expect(events.filter((event) => event.type === "tool-call-stream-delta")).toMatchObject([{ delta: "early" }]);
    expect(eventTypes(events).at(-1)).toBe("run-end");
    expect(eventTypes(events)).not.toContain("activity-snapshot");
  });
});

const throwing = (phase: "stepEnd" | "runEnd" | "afterToolExecute" | "afterInference" | "beforeToolExecute" | "stepStart" | "runStart") =>
  definePlugin({
    id: "throwing",
    register(r) {
      r.hook(phase, () => {
        throw new Error(`no ${phase}`);
      });
    },
  });

describe("hooks that throw", () => {
  it.each(["runStart", "stepStart", "afterInference", "beforeToolExecute", "afterToolExecute", "stepEnd"] as const)(
    "in %s: the run fails, its step is closed, nothing is open",
    async (phase) => {
      const init: ScriptedRunInit = { turns: [toolCall("ok", {}), text("done")], tools: [simple("ok")], plugins: [throwing(phase)] };
      const { result, events, thread } = await runScripted(init);
      expect(result.termination).toMatchObject({ type: "error", code: "hook_failed" });
      expect(eventTypes(events).filter((type) => type === "step-start")).toHaveLength(phase === "runStart" ? 0 : 1);
      expectAnswered(thread.said);
    },
  );

  it("in runEnd: the run ends as it would have", async () => {
    const { result } = await runScripted({ turns: [text("done")], plugins: [throwing("runEnd")] });
    expect(result.termination).toEqual({ type: "natural-end" });
  });

  it("after a decided call: the answer is on record, not the placeholder", async () => {
    const pick: ToolDescriptor = { id: "pick", description: "", parameters: {} };
    const first = await runScripted({ turns: [toolCall("pick", {}, { id: "c1" })], frontendTools: [pick] });
    const { thread, result } = first;
    const second = await runScripted({
      turns: [],
      thread,
      resume: result.runId,
      frontendTools: [pick],
      plugins: [throwing("afterToolExecute")],
      decisions: [decide("c1", { action: "answer", result: "blue" })],
    });
    expect(second.result.termination.type).toBe("error");
    expect(results(thread.history().messages.map((entry) => entry.message))).toEqual([["success", "blue"]]);
  });

  it("a plugin that cannot be bound or unbound does not keep the run from its result, and the others are unbound", async () => {
    const unbound: string[] = [];
    const good = definePlugin({ id: "good", register() {}, onBind: () => () => unbound.push("good") });
    const bad = definePlugin({
      id: "bad",
      register() {},
      onBind: () => () => {
        throw new Error("no unbind");
      },
    });
    const worse = definePlugin({
      id: "worse",
      register() {},
      onBind: () => {
        throw new Error("no bind");
      },
    });
    const inbox = new Queue<InboxItem>();
    const one = await runScripted({ turns: [text("done")], plugins: [bad, good], inbox });
    expect(one.result.text).toBe("done");
    expect(inbox.isClosed).toBe(true);
    const two = await runScripted({ turns: [], plugins: [good, worse] });
    expect(two.result.termination).toMatchObject({ type: "error", message: "no bind" });
    expect(unbound).toEqual(["good", "good"]);
  });

  it("what a plugin sends stays as it was then, and nobody can change a message that hooks see", async () => {
    const part = { type: "text" as const, text: "psst" };
    const unfrozen: unknown[] = [];
    const whisperer = definePlugin({
      id: "whisperer",
      register: (registrar) =>
        registrar.hook("stepEnd", ({ messages }) => {
          for (const message of messages)
            unfrozen.push(...[message, message.content, ...message.content].filter((each) => !Object.isFrozen(each)));
        }),
      onBind: (run) => {
        run.send({ type: "messages", messages: [{ id: messageId("p1"), role: "user", content: [part] }] });
        part.text = "vandalised";
      },
    });
    const thread = new ThreadLog();
    await runScripted({ turns: [toolCall("fine", {}), text("done")], tools: [simple("fine")], plugins: [whisperer], thread });
    const texts = thread.history().messages.flatMap(({ message }) => message.content.flatMap((each) => ("text" in each ? each.text : [])));
    expect(texts).toEqual(["hello", "fine", "psst", "done"]);
    expect(unfrozen).toEqual([]);
    expect(Object.isFrozen(part)).toBe(false);
  });
});

describe("decisions", () => {
  const asking = (ran: unknown[]) => simple("asks", { approve: () => ask("may I?"), execute: () => ran.push(1) });

  it("two people who decide about one call at once do it once, and the run goes on", async () => {
    const ran: unknown[] = [];
    const { result } = await runScripted({
      turns: [toolCall("asks", {}, { id: "c1" }), text("done")],
      tools: [asking(ran)],
      onEvent(event, keep) {
        if (event.type !== "step-start" || event.step > 1) return;
        keep([decide("c1", { action: "approve" }, "ana")]);
        keep([decide("c1", { action: "approve" }, "bob")]);
        keep([decide("gone", { action: "approve" }, "eve")]);
      },
    });
    expect(result.text).toBe("done");
    expect(ran).toHaveLength(1);
  });

  it("a gate sees the input that is going to run, not only what the model wrote", async () => {
    const seen: unknown[] = [];
    const gate = definePlugin({
      id: "gate",
      register: (r) =>
        r.gate(({ call }) => {
          seen.push(call.input);
        }),
    });
    const pay = defineTool({
      id: "pay",
      description: "",
      input: z.object({ n: z.number() }),
      approve: () => ask("?"),
      execute: ({ n }) => n,
    });
    const { thread, result } = await runScripted({ turns: [toolCall("pay", { n: 1 }, { id: "c1" })], tools: [pay], plugins: [gate] });
    await runScripted({
      turns: [text("done")],
      thread,
      resume: result.runId,
      tools: [pay],
      plugins: [gate],
      decisions: [decide("c1", { action: "approve", input: { n: 2 } })],
    });
    expect(seen).toEqual([{ n: 1 }, { n: 2 }]);
  });
});

/** The thread, with somebody who sees its commits before they are written. */
const onCommit = (thread: ThreadLog, see: (commit: ThreadCommit) => void): CommitStore => {
  const commit: CommitStore["commit"] = async (given) => {
    see(given);
    return thread.commit(given);
  };
  const { runs, messages } = thread;
  return { runs, messages, commit, transaction: (work) => work({ runs, commit }) };
};

describe("aborts that come between", () => {
  it("a cancel while a suspension is being committed makes the run done, not waiting", async () => {
    const controller = new AbortController();
    const thread = new ThreadLog();
    const store = onCommit(thread, ({ run }) => {
      if (run?.status === "running" && run.tickets !== undefined) controller.abort();
    });
    const asks = simple("asks", { approve: () => ask("may I?") });
    const { result } = await runScripted({ turns: [toolCall("asks", {})], tools: [asks], thread, store, signal: controller.signal });
    expect(result).toMatchObject({ status: "done", termination: { type: "cancelled" }, tickets: [] });
  });

  it("a cancel while a run with background work closes its step makes it done, not waiting", async () => {
    const controller = new AbortController();
    const plugin = definePlugin({
      id: "tasks",
      register(r) {
        r.hook("stepEnd", () => {
          controller.abort();
          return command().update(pendingWork, true);
        });
      },
    });
    const { result } = await runScripted({ turns: [text("done")], plugins: [plugin], signal: controller.signal });
    expect(result).toMatchObject({ status: "done", termination: { type: "cancelled" } });
  });
});

describe("what comes from outside", () => {
  it("a message that is sent twice is read and kept once", async () => {
    const inbox = new Queue<InboxItem>();
    const send = () => inbox.push({ type: "messages", messages: [userMessage("and this", "again")] });
    const turn = (answer: string) => () => {
      send();
      return text(answer);
    };
    const { result, thread } = await runScripted({ turns: [turn("a"), turn("b")], inbox });
    expect(result).toMatchObject({ text: "b", termination: { type: "natural-end" } });
    expect(thread.said.filter((message) => message.id === "again")).toHaveLength(1);
  });

  it("ids that are blank fail the run, which says so once", async () => {
    const asks = simple("asks", { approve: () => ask("?") });
    const { thread, result } = await runScripted({ turns: [toolCall("asks", {}, { id: "c1" })], tools: [asks] });
    const decisions = [decide("c1", { action: "approve" })];
    const blank = await runScripted({ turns: [], thread, resume: result.runId, tools: [asks], ids: () => " ", decisions });
    expect(blank.result).toMatchObject({ status: "done", termination: { type: "error", code: "invalid_id" } });
    const cancelled = new AbortController();
    cancelled.abort();
    const other = await runScripted({ turns: [toolCall("asks", {}, { id: "c2" })], tools: [asks] });
    const { events } = await runScripted({
      turns: [],
      thread: other.thread,
      resume: other.result.runId,
      tools: [asks],
      ids: () => " ",
      signal: cancelled.signal,
    });
    expect(eventTypes(events).at(-1)).toBe("run-end");
  });
});

describe("in sequence", () => {
  it("nothing runs after a call that a gate made wait", async () => {
    const ran: string[] = [];
    const note = (id: string) => simple(id, { execute: () => ran.push(id) });
    const calls = ["asks", "x", "y"].map((name, index) => ({ name, input: {}, id: `c${index}` }));
    const { result, thread } = await runScripted({
      spec: { toolExecution: "sequential" },
      turns: [toolCalls(calls)],
      tools: [simple("asks", { approve: () => ask("?") }), note("x"), note("y")],
    });
    expect(result.termination.type).toBe("suspended");
    expect(ran).toEqual([]);
    expect(results(thread.said).map(([status]) => status)).toEqual(["pending", "pending", "pending"]);
  });
});

describe("much of it", () => {
  it("10,000 calls in one turn", async () => {
    const calls = Array.from({ length: 10_000 }, (_, index) => ({ name: "ok", input: {}, id: `c${index}` }));
    const { result } = await runScripted({ turns: [toolCalls(calls), text("done")], tools: [simple("ok")] });
    expect(result.text).toBe("done");
  });

  it("inputs and results that are nested deeply, and of a megabyte", async () => {
    const deep = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    const echo = defineTool({ id: "echo", description: "", input: z.unknown(), parameters: {}, execute: (input) => input });
    const inputs = [JSON.parse(deep(400)), { text: "x".repeat(1_000_000) }];
    const given = [deep(600), deep(3_000), deep(30_000)].map((json) => simple("echo", { execute: () => JSON.parse(json) }));
    for (const [input, tool] of [...inputs.map((one) => [one, echo] as const), ...given.map((tool) => [{}, tool] as const)]) {
      const { result, thread } = await runScripted({ turns: [toolCall("echo", input), text("done")], tools: [tool] });
      expect(result.termination).toEqual({ type: "natural-end" });
      expect(results(thread.said)[0]?.[0]).toBe(tool === echo ? "success" : "error");
      const again = await runScripted({ turns: [text("again")], thread });
      expect(again.result.text).toBe("again");
    }
  });

  it("ids that objects have of their own", async () => {
    for (const id of ["__proto__", "constructor", "toString", "\ud800"]) {
      const own = defineTool({ id: "x", description: "", input: nothing, execute: (_i, ctx) => ctx.idempotencyKey });
      const { result, thread } = await runScripted({
        turns: [toolCall("x", {}, { id }), toolCall(id, {}, { id }), text("done")],
        tools: [own],
      });
      expect(result.text).toBe("done");
      expectAnswered(thread.said);
    }
  });

  it("an answer that the schema makes something of that JSON cannot carry", async () => {
    const schema = z.object({ n: z.coerce.bigint() }).meta({});
    const output = { "~standard": { ...schema["~standard"], jsonSchema: { input: () => ({}), output: () => ({}) } } };
    const { result } = await runScripted({ turns: [text('```json\n{"n":"12"}\n```')], output });
    expect(result).toMatchObject({ termination: { type: "natural-end" }, output: { n: "12" } });
  });

  it("an answer of a million empty lines is no output", async () => {
    const answer = `\`\`\`json\n${"\n".repeat(1_000_000)}`;
    const { result } = await runScripted({ turns: [text(answer), text("{}")], output: nothing });
    expect(result.output).toEqual({});
  });
});

describe("a log that fails", () => {
  it.each([1, 2, 3, 4])("at write %i: one terminal event, and what is told last is that it failed", async (failAt) => {
    const thread = new ThreadLog();
    let writes = 0;
    const store = onCommit(thread, () => {
      writes += 1;
      if (writes === failAt) throw new Error("disk full");
    });
    const { result, events } = await runScripted({
      turns: [toolCall("ok", {}), text("done")],
      tools: [simple("ok")],
      thread,
      store,
      clock: fakeClock(),
    });
    if (failAt === 4) expect(result.termination).toEqual({ type: "natural-end" });
    else expect(result.termination.type).toBe("error");
    expect(eventTypes(events).filter((type) => type === "run-end")).toHaveLength(1);
    expectAnswered(thread.said);
    expect(new Set(thread.rows.map((row) => row.message.id)).size).toBe(thread.rows.length);
  });
});

describe("hooks that hand in what is no update", () => {
  it.each([
    ["at once", () => command().update(untyped<typeof pendingWork>(undefined), untyped(1))],
    ["later", async () => command().update(untyped<typeof pendingWork>(undefined), untyped(1))],
  ])("%s fail the run, and what listeners heard of the answer is in the log", async (_when, hook) => {
    const odd = definePlugin({ id: "odd", register: (r) => r.hook("afterInference", hook) });
    const { result, thread } = await runScripted({ turns: [text("hello")], plugins: [odd] });
    expect(result.termination.type).toBe("error");
    expect(thread.history().messages.map(({ message }) => message.role)).toEqual(["user", "assistant"]);
  });
});
