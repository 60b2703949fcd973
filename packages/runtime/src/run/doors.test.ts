import { type AgentEvent, AwakenError, type Backend, type Message, messageToolCalls, threadId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { STATELESS_REMOTE_PROFILE } from "../backend/profile.ts";
import { seldom as commitSeldom } from "../commit/seldom-door.ts";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { whole } from "../phase/whole-door.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { opening } from "../plugin/plugins-to-open.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { checkEvents } from "../testing/event-checker.ts";
import { failure, text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { allow } from "../tool/allow.ts";
import { defineTool } from "../tool/define-tool.ts";
import { GONE, gone } from "./gone.test-support.ts";
import { moreRoom } from "./more-door.ts";
import { seldom } from "./seldom-door.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

const book = defineTool({ id: "book", description: "Books", input: z.object({}), execute: () => "booked" });

const PLUGINS = [
  definePlugin({ id: "gate", register: (registrar) => registrar.gate(() => allow()) }),
  definePlugin({ id: "opener", register() {}, onInitialize: () => undefined }),
  definePlugin({ id: "holder", register() {}, onBind: () => undefined }),
  definePlugin({ id: "waiter", register: (registrar) => registrar.hook("stepStart", async () => undefined) }),
];

function open(turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) {
  const logged: string[] = [];
  const log = { warn: (line: string) => logged.push(line), error: (line: string) => logged.push(line) };
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: { plain: { model: "fast" }, ...Object.fromEntries(PLUGINS.map(({ id }) => [id, { model: "fast", plugins: [id] }])) },
    plugins: PLUGINS,
    tools: [book],
    store: memoryStore(),
    workers: false,
    log,
    ...init,
  });
  return { runtime, model, logged };
}

/** How many calls the model is shown without a result. */
const unanswered = (messages: readonly Message[]): number =>
  messages.flatMap(messageToolCalls).length - messages.filter(({ role }) => role === "tool").length;

describe("a part that cannot be loaded when a run needs it", () => {
  test.each([
    ["gates", "gate", seldom, "failed"],
    ["what plugins hold of a run", "holder", seldom, "failed"],
    ["hooks that are waited for", "waiter", whole, "failed"],
    ["the ledger", "plain", commitSeldom, "refused"],
    ["what opens plugins", "opener", opening, "refused"],
  ] as const)("%s: the run ends once, and the next one on the thread finds it and goes well", async (_, agent, door, becomes) => {
    const { runtime, model } = open([toolCall("book", {}), toolCall("book", {}), text("done")].slice(agent === "gate" ? 0 : 1));
    gone(door);
    const run = runtime.stream({ agent, thread: "t", input: "go" });
    const events: AgentEvent[] = [];
    const reading = (async () => {
      for await (const event of run) events.push(event);
    })();
    if (becomes === "refused") {
      await expect(reading).rejects.toMatchObject(GONE);
      const refused = await run.result.catch((thrown: unknown) => thrown);
      expect(refused).toMatchObject({ ...GONE, cause: { message: "no such file" } });
      expect(AwakenError.is(refused)).toBe(true);
    } else {
      await reading;
      checkEvents(events);
      expect(await run.result).toMatchObject({ status: "failed", error: GONE });
      expect(await runtime.store?.runs.load(run.id)).toMatchObject({ status: "done", outcome: { termination: { type: "error" } } });
    }
    vi.restoreAllMocks();
    expect(await runtime.run({ agent, thread: "t", input: "again" })).toMatchObject({ status: "done", text: "done", steps: 2 });
    for (const { messages } of model.requests) expect(unanswered(messages)).toBe(0);
    await runtime.close();
  });

  test("hooks of the end run also when what checks the answer is not there, and an answer that nobody checked is none", async () => {
    const ends: string[] = [];
    const ender = definePlugin({
      id: "ender",
      register(registrar) {
        const termination = { type: "behavior-requested" } as const;
        registrar.hook("stepEnd", ({ clock }) => command().update(runLifecycle, { type: "done", termination, at: clock.now() }));
        registrar.hook("runEnd", (end) => {
          ends.push(end.termination.type);
          return undefined;
        });
      },
    });
    const { runtime, logged } = open([text('{"a":1}')], { agents: { plain: { model: "fast", plugins: ["ender"] } }, plugins: [ender] });
    gone(seldom);
    const result = await runtime.run({ agent: "plain", input: "go", output: z.object({ a: z.number() }) });
    expect(result.termination).toEqual({ type: "behavior-requested" });
    expect("output" in result ? result.output : undefined).toBeUndefined();
    expect(ends).toEqual(["behavior-requested"]);
    expect(logged).toContain("the answer could not be checked: a part is not loaded: no such file");
    await runtime.close();
  });

  test("a run without a store whose last commit fails ends once, and says so", async () => {
    const logged: string[] = [];
    const runtime = createRuntime({
      providers: { main: scripted([text("hi")]) },
      models: { fast: { provider: "main", model: "m" } },
      agents: { plain: { model: "fast" } },
      // The answer has the id of what was asked: the log takes it only once.
      ids: () => "same",
      log: { warn() {}, error: (line) => logged.push(line) },
    });
    gone(commitSeldom);
    const run = runtime.stream({ agent: "plain", thread: "t", input: "go" });
    const events: AgentEvent[] = [];
    for await (const event of run) events.push(event);
    expect(events.filter(({ type }) => type === "run-end")).toHaveLength(1);
    expect(await run.result).toMatchObject({ status: "failed", error: { code: expect.any(String) } });
    expect(logged.join()).toContain("the last commit failed");
    vi.restoreAllMocks();
    await runtime.close();
  });

  test("a run from the queue that leaves for a while is tried again when its model said, and for what that said", async () => {
    const agents = { plain: { model: "fast", sections: { retry: { maxRetries: 0 } } } };
    const store = memoryStore();
    const { runtime } = open([failure("rate-limited", "slow down", 60_000)], { agents, store, workers: true });
    gone(moreRoom);
    await runtime.start({ agent: "plain", thread: "t", input: "x" });
    const row = async () => (await store.dispatches.list(threadId("t"), {}))[0];
    await expect.poll(row).toMatchObject({ status: "queued", attemptCount: 1, lastError: expect.stringContaining("slow down") });
    const { availableAt = 0, updatedAt = 0 } = (await row()) ?? {};
    expect(availableAt - updatedAt).toBe(60_000);
    await runtime.close();
  });

  test("a cancelled run of an agent that runs elsewhere comes to its end", async () => {
    const began = Promise.withResolvers<void>();
    const backend: Backend = {
      profile: { ...STATELESS_REMOTE_PROFILE, cancellation: "remote-abort" },
      run: () => {
        began.resolve();
        return new Promise(() => {});
      },
      abort: async () => {},
    };
    const agents = { far: { remote: { type: "fake", baseUrl: "https://far.example" }, description: "Far" } };
    const { runtime, logged } = open([], { agents, backends: [{ type: "fake", build: () => backend }] });
    const run = runtime.stream({ agent: "far", thread: "t", input: "x" });
    await began.promise;
    gone(seldom);
    await runtime.cancel(run.id);
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(await runtime.store?.runs.load(run.id)).toMatchObject({ status: "done" });
    expect(logged).toContain("a remote run could not be told to stop: a part is not loaded: no such file");
    await runtime.close();
  });
});

test("a cancel while an input is checked and what asks gates is on its way ends the run, and fails nothing into the open", async () => {
  const checking = Promise.withResolvers<void>();
  const validate = () => {
    checking.resolve();
    return new Promise<never>(() => {});
  };
  const input = { "~standard": { version: 1, vendor: "house", validate } as const };
  const tool = defineTool({ id: "book", description: "Books", input, parameters: { type: "object" }, execute: () => "booked" });
  const { runtime } = open([toolCall("book", {})], { tools: [tool] });
  const there = await seldom.open();
  const loading = Promise.withResolvers<typeof there>();
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  vi.spyOn(seldom, "open").mockImplementation(() => loading.promise);
  const run = runtime.stream({ agent: "plain", input: "go" });
  await checking.promise;
  await runtime.cancel(run.id);
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  loading.resolve(there);
  expect(await run.result).toMatchObject({ status: "cancelled" });
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
  await runtime.close();
});

describe("a round of calls whose rarer part is gone", () => {
  const ends = (events: readonly AgentEvent[]) =>
    events.flatMap((event) => (event.type === "tool-call-end" ? [`${event.toolCallId} ${event.outcome}`] : []));

  test("a call that lasts beside a quick one is waited for", async () => {
    const slow = defineTool({
      id: "slow",
      description: "",
      input: z.object({}),
      execute: () => new Promise<string>((done) => setTimeout(done, 600, "late")),
    });
    const calls = toolCalls([
      { name: "book", input: {}, id: "1" },
      { name: "slow", input: {}, id: "2" },
    ]);
    const { runtime } = open([calls, text("done")], { tools: [book, slow] });
    gone(seldom);
    const events: AgentEvent[] = [];
    const run = runtime.stream({ agent: "plain", input: "go" });
    for await (const event of run) events.push(event);
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(ends(events)).toEqual(["1 succeeded", "2 succeeded"]);
    await runtime.close();
  });

  test("calls that never began have a result when the run is cancelled", async () => {
    const begun = Promise.withResolvers<void>();
    const hang = defineTool({
      id: "hang",
      description: "",
      input: z.object({}),
      pure: true,
      execute: (_, { signal }) => {
        begun.resolve();
        return new Promise<string>((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason)));
      },
    });
    const calls = toolCalls([
      { name: "hang", input: {}, id: "1" },
      { name: "book", input: {}, id: "2" },
    ]);
    const { runtime } = open([calls], { tools: [book, hang], agents: { plain: { model: "fast", toolExecution: "sequential" } } });
    gone(seldom);
    const events: AgentEvent[] = [];
    const run = runtime.stream({ agent: "plain", input: "go" });
    const reading = (async () => {
      for await (const event of run) events.push(event);
    })();
    await begun.promise;
    await runtime.cancel(run.id);
    await reading;
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(ends(events)).toEqual(["1 failed", "2 failed"]);
    await runtime.close();
  });
});
