import { messageText, messageToolCalls, runId, threadId } from "@awaken/contract";
import type { LedgerEntry, Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { activeAgent } from "../state/active-agent.ts";
import { crashPoints } from "../testing/crash-points.ts";
import { fakeClock } from "../testing/fake-clock.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptedProvider, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";
import { crash, input, type Kind, lastPrompt, open, openEntries, World } from "./crash.test-support.ts";

const LOST = "tool: 'pay' was started and its outcome is unknown: it may have happened. Do not call it again before that is found out.";
const NOT_DONE = "tool: 'pay' was started and did not happen.";
const pay = (n = 7, id = "call_0") => toolCall("pay", { n }, { id });
const only = <T>(items: readonly T[]): T => {
  const [first, ...rest] = items;
  if (first === undefined || rest.length > 0) throw new Error(`one was expected, not ${items.length}`);
  return first;
};
const callsSeen = ({ requests }: ScriptedProvider) =>
  requests.at(-1)?.messages.flatMap((message) => messageToolCalls(message).map(({ name, input }) => `${name} ${JSON.stringify(input)}`));
const statusOf = async (store: Store, run: string) => (await store.runs.load(runId(run)))?.status;

/** A process that died in `pay`, and the next message: what the model reads of it. */
async function messageAfterCrash(kind: Kind, at: "tool-start" | "tool-end", next: Partial<RuntimeInit> = {}) {
  const [store, world] = [memoryStore(), new World()];
  const own: Kind = kind.reconcile === undefined ? kind : { ...kind, reconcile: world.reconcile };
  const tools = [world.tool("pay", own)];
  const run = await crash(store, at, 1, scripted([pay()]), { tools });
  const model = scripted([text("fine")]);
  const result = await open(model, { store, tools, ...next }).run({ thread: "t", input: "hello?" });
  return { store, world, run, model, result };
}

const asks: Kind = { reconcile: () => ({ type: "unknown" }) };

describe("a new message on a thread whose run was cut off in a tool", () => {
  it.each([
    ["reconcile finds it", asks, "tool-end", 'tool: {"did":7}', "finished"],
    ["reconcile finds nothing", asks, "tool-start", NOT_DONE, "finished"],
    ["nobody can tell", {}, "tool-end", LOST, "claimed"],
    ["nobody can tell, and nothing happened", {}, "tool-start", LOST, "claimed"],
    ["it is idempotent: nobody waits for it any more, so it is not run again", { idempotent: true }, "tool-end", LOST, "claimed"],
  ] as const)("core-execution 96: the call stays in view when %s", async (_, kind, at, said, status) => {
    const { store, world, run, model, result } = await messageAfterCrash(kind, at);
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", said, "user: hello?"]);
    expect(callsSeen(model)).toEqual(['pay {"n":7}']);
    expect(world.done).toEqual(at === "tool-end" ? ["pay 7"] : []);
    expect(await openEntries(store, run)).toMatchObject([{ status, attempt: 1 }]);
    expect(result).toMatchObject({ status: "done", text: "fine" });
    expect(result.runId).not.toBe(run);
    expect(await store.runs.load(runId(run))).toMatchObject({ status: "done", outcome: { termination: { type: "cancelled" } }, steps: 1 });
    expect((await store.threads.loadHead(threadId("t")))?.openRun).toBeUndefined();
    await expect(open(scripted([]), { store }).resume(run)).rejects.toMatchObject({ code: "invalid_resume" });
  });

  it("core-execution 96: a run that was cut off between two steps does not stay running either", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay")];
    const run = await crash(store, "commit-end", 3, scripted([pay()]), { tools });
    expect(await statusOf(store, run)).toBe("running");
    const model = scripted([text("fine")]);
    await open(model, { store, tools }).run({ thread: "t", input: "hello?" });
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", 'tool: {"did":7}', "user: hello?"]);
    expect(await statusOf(store, run)).toBe("done");
  });

  it("is refused with nothing changed when its own agent does not exist, or its run id is taken", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay")];
    const run = await crash(store, "tool-end", 1, scripted([pay()]), { tools });
    const runtime = open(scripted([]), { store, tools });
    await expect(runtime.run({ agent: "nobody", thread: "t", input: "hello?" })).rejects.toMatchObject({ code: "agent_not_found" });
    await expect(runtime.run({ thread: "t", runId: run, input: "hello?" })).rejects.toMatchObject({ code: "invalid_resume" });
    expect(await statusOf(store, run)).toBe("running");
    expect((await store.threads.loadHead(threadId("t")))?.messageCount).toBe(2);
  });

  it("asks the tool also when the agent is gone, and says that nobody knows when the tool is gone or takes something else", async () => {
    const agents = { other: { model: "fast" } };
    expect(
      lastPrompt((await messageAfterCrash(asks, "tool-end", { agents: { ...agents, default: { model: "fast", tools: [] } } })).model),
    ).toContain(LOST);
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { reconcile: world.reconcile })];
    await crash(store, "tool-end", 1, scripted([pay()]), { tools });
    const model = scripted([text("fine")]);
    await open(model, { store, tools, agents }).run({ agent: "other", thread: "t", input: "hello?" });
    expect(lastPrompt(model)).toContain('tool: {"did":7}');
    const changed = defineTool({
      ...{ id: "pay", description: "", input: z.object({ cents: z.number() }), execute: () => "" },
      reconcile: () => ({ type: "done", data: 1 }) as const,
    });
    for (const tools of [[], [changed]]) expect(lastPrompt((await messageAfterCrash({}, "tool-end", { tools })).model)).toContain(LOST);
  });

  it("says that nobody knows when reconcile throws or never ends and the tool has a limit, or when the run is cancelled meanwhile", async () => {
    const clock = fakeClock();
    const never = () => new Promise<never>(() => {});
    for (const reconcile of [() => Promise.reject(new Error("no")), never]) {
      const [store, world] = [memoryStore(), new World()];
      const run = await crash(store, "tool-end", 1, scripted([pay()]), { tools: [world.tool("pay")] });
      const tool = defineTool({ id: "pay", description: "", input, reconcile, timeoutMs: 1_000, execute: () => "again" });
      const model = scripted([text("fine")]);
      const next = open(model, { store, tools: [tool], clock }).run({ thread: "t", input: "hello?" });
      await clock.advance(1_000);
      await next;
      expect(lastPrompt(model)).toContain(LOST);
      expect(await statusOf(store, run)).toBe("done");
    }
    const [store, world] = [memoryStore(), new World()];
    const run = await crash(store, "tool-end", 1, scripted([pay()]), { tools: [world.tool("pay")] });
    const asked = Promise.withResolvers<void>();
    const reconcile = () => {
      asked.resolve();
      return never();
    };
    const tool = defineTool({ id: "pay", description: "", input, reconcile, execute: () => "again" });
    const runtime = open(scripted([]), { store, tools: [tool], cancelGraceMs: 0 });
    const next = runtime.run({ thread: "t", input: "hello?" });
    await asked.promise;
    await runtime.cancel("t");
    expect(await next).toMatchObject({ termination: { type: "cancelled" } });
    expect(await statusOf(store, run)).toBe("done");
    const model = scripted([text("fine")]);
    await open(model, { store, tools: [] }).run({ thread: "t", input: "and now?" });
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", LOST, "user: hello?", "user: and now?"]);
  });

  it("shows every call that was under way, those that had finished, and none that had not begun; also in sequence", async () => {
    const calls = toolCalls([
      { name: "look", input: { n: 1 }, id: "a" },
      { name: "pay", input: { n: 2 }, id: "b" },
      { name: "pay", input: { n: 3 }, id: "c" },
    ]);
    for (const [mode, seen] of [
      ["parallel", ['pay {"n":2}', 'pay {"n":3}']],
      ["sequential", ['pay {"n":2}']],
    ] as const) {
      const [store, world] = [memoryStore(), new World()];
      const init = {
        tools: [world.tool("look", { pure: true }), world.tool("pay")],
        agents: { default: { model: "fast", toolExecution: mode } },
      };
      await crash(store, "tool-start", mode === "parallel" ? 3 : 2, scripted([calls]), init);
      const model = scripted([text("fine")]);
      await open(model, { ...init, store }).run({ thread: "t", input: "hello?" });
      expect(
        callsSeen(model)?.filter((call) => call.startsWith("pay")),
        mode,
      ).toEqual(seen);
      expect(lastPrompt(model)?.filter((line) => line === LOST)).toHaveLength(seen.length);
    }
  });

  it("asks the tools of the agent that the run was handed to", async () => {
    const [store, world] = [memoryStore(), new World()];
    const go = defineTool({
      ...{ id: "go", description: "", input, pure: true },
      execute: () => reply("gone", { command: command().update(activeAgent, "billing") }),
    });
    const init = {
      tools: [go, world.tool("pay", { reconcile: world.reconcile })],
      agents: { desk: { model: "fast", tools: ["go"] }, billing: { model: "fast", tools: ["pay"] } },
    };
    const points = crashPoints({ at: "tool-end", nth: 2, mode: "throw" });
    const dying = open(scripted([toolCall("go", { n: 0 }, { id: "call_0" }), pay()]), {
      ...init,
      tools: points.tools(init.tools),
      store: points.commits(store, "commit", "transaction"),
    });
    await dying.run({ agent: "desk", thread: "t", input: "go" }).catch(() => {});
    const model = scripted([text("fine")]);
    await open(model, { ...init, store }).run({ agent: "desk", thread: "t", input: "hello?" });
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", "tool: gone", "assistant: ", 'tool: {"did":7}', "user: hello?"]);
  });

  it("of two processes that get a message at once, one ends the run, and the other one is told", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay", { reconcile: world.reconcile })];
    const cut = await crash(store, "tool-end", 1, scripted([pay()]), { tools });
    const results = await Promise.allSettled(
      ["left", "right"].map((name) => open(scripted([text(name)]), { store, tools }).run({ thread: "t", input: name })),
    );
    expect(await statusOf(store, cut)).toBe("done");
    for (const result of results) {
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "thread_already_running" });
    }
    expect(results.some(({ status }) => status === "fulfilled")).toBe(true);
    const view = (await store.threads.loadHead(threadId("t")))?.messages ?? [];
    expect(view.filter(({ message }) => message.role === "tool")).toHaveLength(1);
  });
});

/** A decision that was taken, and whose process died while the call ran. */
async function crashInDecided(kind: Kind = {}) {
  const [store, world] = [memoryStore(), new World()];
  const tools = [world.tool("pay", { approve: () => ask("Pay?"), ...kind })];
  const first = await open(scripted([pay()]), { store, tools }).run({ thread: "t", input: "go" });
  const points = crashPoints({ at: "tool-end", nth: 1, mode: "throw" });
  const dying = open(scripted([]), { store: points.commits(store, "commit", "transaction"), tools: points.tools(tools) });
  await dying.decide(only(ticketsOf(first)).id, { action: "approve", input: { n: 5 }, by: "ana" });
  await dying.wait(first.runId).catch(() => {});
  return { store, world, tools, run: first.runId };
}

describe("a new message on a thread whose run was cut off in a call that was decided", () => {
  it("core-execution 96: the call stays in view with the input that may have run", async () => {
    const { store, world, tools, run } = await crashInDecided();
    const model = scripted([text("fine")]);
    await open(model, { store, tools }).run({ thread: "t", input: "never mind" });
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", LOST, "user: never mind"]);
    expect(callsSeen(model)).toEqual(['pay {"n":5}']);
    expect(world.done).toEqual(["pay 5"]);
    expect(await statusOf(store, run)).toBe("done");
    expect(await openEntries(store, run)).toMatchObject([{ status: "claimed", input: { n: 5 } }]);
  });

  it("follows a person who said what became of it, and does not run what a person wanted to run again", async () => {
    const unknown = { outcome: "failed", result: { error: LOST.replace("tool: ", "") } };
    for (const [decision, said, fact] of [
      [
        { action: "answer", result: { did: 5, by: "bo" } },
        'tool: {"did":5,"by":"bo"}',
        { outcome: "succeeded", result: { did: 5, by: "bo" } },
      ],
      [
        { action: "deny", reason: "it is paid" },
        "tool: Denied: it is paid",
        { outcome: "denied", result: { action: "deny", reason: "it is paid" } },
      ],
      [{ action: "approve" }, LOST, unknown],
    ] as const) {
      const { store, world, tools, run } = await crashInDecided();
      const waiting = await open(scripted([]), { store, tools }).resume(run);
      const points = crashPoints({ at: "commit-end", nth: 1, mode: "throw" });
      const dying = open(scripted([]), { store: points.commits(store, "transaction"), tools });
      await dying.decide(only(ticketsOf(waiting)).id, decision).catch(() => {});
      expect(points.hasCrashed).toBe(true);
      const model = scripted([text("fine")]);
      await open(model, { store, tools }).run({ thread: "t", input: "never mind" });
      expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", said, "user: never mind"]);
      expect(world.done).toEqual(["pay 5"]);
      // Told as every call that is closed later, with the ticket that it waited with and the message that asked for it.
      const facts = (await store.events.list({ type: "run", runId: runId(run) }, { limit: 200 })).items;
      const [turn] = (await store.messages.list(threadId("t"), {})).items.filter(({ message }) => message.role === "assistant");
      expect(facts.filter(({ kind }) => kind === "tool-call-resumed").map(({ payload }) => payload)).toEqual([
        { toolCallId: "call_0", toolName: "pay", messageId: turn?.message.id, ticketId: only(ticketsOf(waiting)).id, ...fact },
      ]);
    }
  });
});

/** A run that waits with the question what became of a call. */
async function asked() {
  const [store, world] = [memoryStore(), new World()];
  const tools = [world.tool("pay")];
  const run = await crash(store, "tool-end", 1, scripted([pay()]), { tools });
  const tickets = ticketsOf(await open(scripted([]), { store, tools }).resume(run));
  expect(only(tickets)).toMatchObject({ action: "unknown-outcome" });
  return { store, world, tools, run, ticket: only(tickets).id };
}

describe("a user message while nobody has said what became of a call", () => {
  it.each([
    ["goes on with the run", {}],
    ["begins a run of its own", { runId: "mine" }],
  ])("core-execution 97: that %s leaves the call in view as started with unknown outcome", async (_, hint) => {
    const { store, world, tools, run, ticket } = await asked();
    const model = scripted([text("fine"), text("yes"), text("good")]);
    const runtime = open(model, { store, tools });
    const message = { role: "user", id: "m-hello", content: "hello?" } as const;
    const next = await runtime.run({ thread: "t", input: [message], ...hint });
    expect(next.runId).toBe("runId" in hint ? hint.runId : run);
    expect(lastPrompt(model)).toEqual(["user: go", "assistant: ", LOST, "user: hello?"]);
    expect(await statusOf(store, run)).toBe("done");
    expect(world.done).toEqual(["pay 7"]);

    // Whoever answers now is told what closed it, and nothing changes.
    const answer = { action: "answer", result: { did: 7 } } as const;
    const closed = { code: "ticket_not_open", details: { ticketId: ticket, runId: run, closedBy: "m-hello" } };
    await expect(runtime.decide(ticket, answer)).rejects.toMatchObject(closed);
    await expect(open(scripted([]), { store, tools }).decide(ticket, { action: "approve" })).rejects.toMatchObject(closed);
    await runtime.run({ thread: "t", input: "still?" });
    expect(lastPrompt(model)?.slice(0, 3)).toEqual(["user: go", "assistant: ", LOST]);

    // What the person knows can still be put on record.
    await runtime.reconcile(ticket, { type: "done", data: { did: 7 }, by: "ana" });
    await runtime.run({ thread: "t", input: "and now?" });
    expect(lastPrompt(model)?.slice(0, 3)).toEqual(["user: go", "assistant: ", 'tool: {"did":7}']);
    expect(await openEntries(store, run)).toMatchObject([{ status: "finished", result: { type: "success", data: { did: 7 } } }]);
    const events = (await store.events.list({ type: "run", runId: runId(run) }, { limit: 200 })).items;
    expect(events.filter(({ kind }) => kind === "outcome-found").map(({ payload }) => payload)).toMatchObject([
      { found: "done", by: "ana" },
    ]);
    expect(world.done).toEqual(["pay 7"]);
  });

  it("the call that is meant is the one that was asked about, when the vendor gave its id again", async () => {
    const { store, tools, ticket } = await asked();
    const model = scripted([pay(8), text("paid another"), text("yes")]);
    const runtime = open(model, { store, tools });
    await runtime.run({ thread: "t", input: "pay another" });
    await runtime.reconcile(ticket, { type: "not-done" });
    await runtime.run({ thread: "t", input: "and?" });
    expect(lastPrompt(model)).toEqual([
      ...["user: go", "assistant: ", NOT_DONE],
      ...["user: pay another", "assistant: ", 'tool: {"did":8}', "assistant: paid another"],
      "user: and?",
    ]);
  });

  it("what ends the run instead of a message leaves the call in view, too", async () => {
    const { store, tools, run } = await asked();
    const runtime = open(scripted([text("fine")]), { store, tools });
    await runtime.cancelAndWait(run);
    const view = (await store.threads.loadHead(threadId("t")))?.messages ?? [];
    expect(view.map(({ message }) => `${message.role}: ${messageText(message)}`)).toEqual(["user: go", "assistant: ", LOST]);
    expect(await openEntries(store, run)).toMatchObject([{ status: "suspended" }]);
    const [entry] = await openEntries(store, run);
    await runtime.reconcile(entry?.idempotencyKey ?? "", { type: "done", data: { did: 7 } });
    expect(await openEntries(store, run)).toMatchObject([{ status: "finished" }]);
  });
});

describe("reconcile, by whoever knows", () => {
  const keyOf = async (store: Store, run: string): Promise<string> => only<LedgerEntry>(await openEntries(store, run)).idempotencyKey;

  it("core-execution 97: takes the key of a call that never had a ticket, once, and not another outcome", async () => {
    const { store, run } = await messageAfterCrash({}, "tool-end");
    const runtime = open(scripted([text("yes")]), { store });
    const key = await keyOf(store, run);
    await runtime.reconcile(key, { type: "done", data: "receipt 9" });
    const rows = (await store.threads.loadHead(threadId("t")))?.messageCount;
    await runtime.reconcile(key, { type: "done", data: "receipt 9" });
    expect((await store.threads.loadHead(threadId("t")))?.messageCount).toBe(rows);
    await expect(runtime.reconcile(key, { type: "not-done" })).rejects.toMatchObject({ code: "idempotency_conflict" });
    const view = (await store.threads.loadHead(threadId("t")))?.messages ?? [];
    expect(view.map(({ message }) => messageText(message))).toEqual(["go", "", "receipt 9", "hello?", "fine"]);
  });

  it("is refused while somebody may still bring the call to its end, and for what nobody asked about", async () => {
    const [store, world] = [memoryStore(), new World()];
    const tools = [world.tool("pay")];
    const run = await crash(store, "tool-end", 1, scripted([pay()]), { tools });
    const runtime = open(scripted([]), { store, tools });
    const key = await keyOf(store, run);
    await expect(runtime.reconcile(key, { type: "not-done" })).rejects.toMatchObject({ code: "thread_already_running" });
    const tickets = ticketsOf(await runtime.resume(run));
    for (const target of [key, only(tickets).id]) {
      await expect(runtime.reconcile(target, { type: "not-done" })).rejects.toMatchObject({ code: "invalid_resume" });
    }
    await expect(runtime.reconcile("nothing", { type: "not-done" })).rejects.toMatchObject({ code: "ticket_not_found" });
    await expect(open(scripted([])).reconcile("nothing", { type: "not-done" })).rejects.toMatchObject({ code: "ticket_not_found" });
    await runtime.cancelAndWait(run);
    await expect(runtime.reconcile(key, JSON.parse('{"type":"done"}'))).rejects.toMatchObject({ code: "invalid_activation" });
  });
});
