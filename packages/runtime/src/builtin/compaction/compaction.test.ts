import { getEventListeners } from "node:events";
import {
  DEFAULT_SCOPE,
  type JsonValue,
  type Log,
  type Message,
  messageId,
  messageText,
  type Provider,
  runId,
  threadId,
} from "@awaken/contract";
import { type ContextPolicy, type LocalAgentSpec, parseAgentSpec } from "@awaken/contract/spec";
import { describe, expect, test } from "vitest";
import { toContextPolicy } from "../../inference/context-policy.test-support.ts";
import { command } from "../../phase/command.ts";
import { PhaseEngine } from "../../phase/engine.ts";
import { compileEnv } from "../../plugin/compile-env.ts";
import { boundsOf } from "../../plugin/engine-bench.test-support.ts";
import type { CompactionNotice, InboxItem } from "../../plugin/inbox.ts";
import { createProfileAccess } from "../../state/profile.ts";
import { runLifecycle } from "../../state/run-lifecycle.ts";
import { StateStore } from "../../state/store.ts";
import { countingIds, fakeClock } from "../../testing/fake-clock.ts";
import { cut, failure, stall, text } from "../../testing/script.ts";
import { scripted } from "../../testing/scripted.ts";
import { compaction } from "./compaction.ts";
import { compactionChange } from "./compaction-changes.ts";
import { compactionState } from "./compaction-state.ts";

const log: Log = { warn() {}, error() {} };
const LONG = "x".repeat(8_000);
const say = (id: string, role: "user" | "assistant", words: string): Message => ({
  id: messageId(id),
  role,
  content: [{ type: "text", text: words }],
});
const textOf = (message: Message | undefined) => (message === undefined ? "" : messageText(message));
const HISTORY = [say("u1", "user", LONG), say("a1", "assistant", LONG), say("u2", "user", "now"), say("a2", "assistant", "ok")];

function local(sections: { [key: string]: JsonValue }): LocalAgentSpec {
  const spec = parseAgentSpec("a", { sections });
  if (spec.type !== "local") throw new TypeError("a local agent is needed");
  return spec;
}

interface Setting {
  readonly policy?: Partial<ContextPolicy>;
  readonly section?: { [key: string]: JsonValue };
  readonly messages?: readonly Message[];
}

/** One run as the loop gives it to the plugin, with the loop's part of consuming a notice. */
function openRun(provider: Provider, setting: Setting = {}) {
  const sections = setting.section === undefined ? {} : { compaction: setting.section };
  const policy = toContextPolicy({ autocompactThreshold: 2_000, ...setting.policy });
  const inference = {
    maxRetries: 0,
    backoffBaseMs: 0,
    overloadedBackoffBaseMs: 0,
    maxStreamRetries: 0,
    openTimeoutMs: 0,
    maxRetryAfterMs: 0,
    streamIdleTimeoutMs: 60_000,
    maxContinuationRetries: 0,
  };
  const plugin = compaction({ policy, provider, model: "agent-model", ids: countingIds("task"), inference, log });
  const env = compileEnv({ plugins: [], runtimePlugins: [plugin], sections });
  const store = new StateStore(log);
  store.register([runLifecycle, ...env.stateKeys]);
  const clock = fakeClock(1_000);
  const abort = new AbortController();
  const messages = [...(setting.messages ?? HISTORY)];
  const id = runId("run");
  const identity = {
    threadId: threadId("t"),
    runId: id,
    agentId: "a",
    origin: "user",
    runMode: "foreground",
    adapter: "internal",
  } as const;
  const profile = createProfileAccess({ store: undefined, keys: new Map() });
  const around = { messages, tools: [], signal: abort.signal, clock, profile };
  const scene = { agent: local(sections), scopeId: DEFAULT_SCOPE, identity, principal: undefined, extras: undefined, ...around };
  const engine = new PhaseEngine({ store, table: env, seat: { scene }, log, bounds: boundsOf(scene) });
  const inbox: InboxItem[] = [];
  const live = {
    ...scene,
    isContinuation: false,
    listen() {},
    snapshot: () => store.snapshot(),
    submit: (given: Parameters<PhaseEngine["submit"]>[0]) => engine.submit(given),
    send: (item: InboxItem) => inbox.push(item) > 0,
  };
  const bind = () => plugin.onBind?.(live) ?? (() => {});
  const unbind = bind();
  store.commit(command().update(runLifecycle, { type: "start", runId: id, at: 0 }));
  return {
    abort,
    bind,
    clock,
    engine,
    inbox,
    messages,
    store,
    unbind,
    listeners: () => getEventListeners(abort.signal, "abort").length,
    state: () => store.snapshot().get(compactionState),
    step: async () => engine.run("beforeInference", { step: 1 }),
    async notice(): Promise<CompactionNotice> {
      await clock.advance(0);
      const item = inbox.shift();
      if (item?.type !== "compaction") throw new Error("no compaction came");
      return item.notice;
    },
    async consume(notice: CompactionNotice): Promise<void> {
      const swap = notice.swap(store.snapshot());
      const at = messages.findIndex((message) => message.id === swap?.upTo);
      if (swap !== undefined && at >= 0) messages.splice(0, at + 1, swap.summary);
      const booked = notice.bookkeep(store.snapshot(), at >= 0);
      if (booked !== undefined) await engine.submit(booked);
    },
  };
}

describe("compaction", () => {
  test("a conversation over the threshold is summarised in the background and swapped at a boundary", async () => {
    using provider = scripted([text("what ", "happened")]);
    const run = openRun(provider);
    await run.step();
    expect(run.state()).toMatchObject({ inFlight: { upTo: "a1", startedAt: 1_000 }, totalCompactions: 0 });
    await run.consume(await run.notice());

    expect(run.messages.map((message) => message.id).slice(1)).toEqual(["u2", "a2"]);
    expect(run.messages[0]).toMatchObject({ role: "system", visibility: "internal" });
    expect(run.messages[0]?.metadata).toBeUndefined();
    expect(textOf(run.messages[0])).toBe("<conversation-summary>\nwhat happened\n</conversation-summary>");
    expect(run.state()).toMatchObject({ totalCompactions: 1, boundaries: [{ upTo: "a1", summaryId: run.messages[0]?.id }] });
    expect(run.state()?.inFlight).toBeUndefined();
    expect([run.clock.pendingTimers, run.listeners()]).toEqual([0, 0]);
    await run.step();
    expect(run.state()?.inFlight).toBeUndefined();
  });

  test("the summary is asked of the agent's model, with the prompts and the limit of the section", async () => {
    using provider = scripted([text("one"), text("two")]);
    const first = openRun(provider);
    await first.step();
    await first.notice();
    const prompts = { summarizerSystemPrompt: "sum up", summarizerUserPrompt: "[{previous_summary}|{messages}|{messages}]" };
    const messages = [say("u1", "user", `$& {previous_summary} ${LONG}`), say("u2", "user", "now"), say("a2", "assistant", "ok")];
    const second = openRun(provider, { section: { ...prompts, summaryModel: "small", summaryMaxTokens: 99 }, messages });
    await second.step();
    await second.notice();

    const [plain, own] = provider.requests;
    expect(plain).toMatchObject({ model: "agent-model", overrides: { maxTokens: 1024 }, tools: [], promptCache: false });
    expect(own).toMatchObject({ model: "small", system: "sum up", overrides: { maxTokens: 99 } });
    expect(textOf(own?.messages[0])).toMatch(/^\[\|user: \$& \{previous_summary\} x+.*\|user: \$& /s);
  });

  test("an earlier summary goes into the next one", async () => {
    using provider = scripted([text("first"), text("second")]);
    const run = openRun(provider);
    await run.step();
    await run.consume(await run.notice());
    run.messages.push(say("u3", "user", LONG), say("a3", "assistant", LONG), say("u4", "user", "and now"), say("a4", "assistant", "ok"));
    await run.step();
    await run.consume(await run.notice());
    const [, request] = provider.requests;
    expect(textOf(request?.messages[0])).toContain("first");
    expect(run.messages.map((message) => message.id).slice(1)).toEqual(["u4", "a4"]);
    expect(run.state()).toMatchObject({ totalCompactions: 2 });
  });

  test("inference does not wait: the phase ends while the summary is still being written", async () => {
    using provider = scripted([stall(text("never"), 0)]);
    const run = openRun(provider);
    await run.step();
    expect(run.state()?.inFlight).toBeDefined();
    await run.step();
    expect(provider.requests).toHaveLength(1);
    run.unbind();
    await run.clock.advance(0);
    expect([run.inbox.length, run.clock.pendingTimers, run.listeners()]).toEqual([0, 0, 0]);
  });

  test("core-execution 74: a stale completion changes neither the messages nor the marker", async () => {
    using provider = scripted([text("late")]);
    const run = openRun(provider);
    await run.step();
    const notice = await run.notice();
    const task = { taskId: "another", upTo: "a1", startedAt: 0 };
    await run.engine.submit(command().update(compactionState, compactionChange({ type: "start", task })));
    const before = run.store.snapshot();
    await run.consume(notice);
    expect(run.messages).toEqual(HISTORY);
    expect(run.store.revision).toBe(before.revision);
    expect(run.state()?.inFlight).toEqual(task);

    const marker = { ...task, taskId: "task-1", upTo: "u1" };
    await run.engine.submit(command().update(compactionState, compactionChange({ type: "start", task: marker })));
    await run.consume(notice);
    expect(run.messages).toEqual(HISTORY);
    expect(run.state()?.inFlight).toEqual(marker);
  });

  test("core-execution 74: the same completion twice is taken once", async () => {
    using provider = scripted([text("once")]);
    const run = openRun(provider);
    await run.step();
    const notice = await run.notice();
    await run.consume(notice);
    const { revision } = run.store;
    await run.consume(notice);
    expect(run.store.revision).toBe(revision);
    expect(run.state()).toMatchObject({ totalCompactions: 1 });
  });

  test("when the boundary message is gone nothing is swapped and the marker goes", async () => {
    using provider = scripted([text("late")]);
    const run = openRun(provider);
    await run.step();
    run.messages.splice(0, 2);
    await run.consume(await run.notice());
    expect(run.messages.map((message) => message.id)).toEqual(["u2", "a2"]);
    expect(run.state()).toEqual({ boundaries: [], failures: [], skipped: [], totalCompactions: 0 });
  });

  test("a summary that saves too little is thrown away, and not asked for again", async () => {
    using provider = scripted([text("y".repeat(12_000))]);
    const run = openRun(provider);
    await run.step();
    await run.consume(await run.notice());
    expect(run.messages).toEqual(HISTORY);
    expect(run.state()).toMatchObject({ skipped: [{ upTo: "a1", reason: "min-savings-ratio" }], totalCompactions: 0 });
    expect(run.state()?.inFlight).toBeUndefined();
    await run.step();
    expect(run.state()?.inFlight).toBeUndefined();
  });

  test("a failed summary is noted and tried again, three times at most", async () => {
    using provider = scripted([cut(text("half a summary"), 1), failure("unauthorized", "no key"), text("")]);
    const run = openRun(provider);
    for (let attempt = 0; attempt < 3; attempt++) {
      await run.step();
      await run.consume(await run.notice());
    }
    await run.step();
    expect(run.state()?.failures.map((entry) => entry.upTo)).toEqual(["a1", "a1", "a1"]);
    const [, refused, empty] = run.state()?.failures ?? [];
    expect([refused?.error, empty?.error]).toEqual([expect.stringContaining("no key"), "the summary is empty"]);
    expect(run.state()?.inFlight).toBeUndefined();
    expect(run.messages).toEqual(HISTORY);
  });

  test("an abort ends the summary without a word, a listener or a timer", async () => {
    using provider = scripted([stall(text("never"), 1)]);
    const run = openRun(provider);
    await run.step();
    await run.clock.advance(0);
    run.abort.abort();
    await run.clock.advance(0);
    expect([run.inbox.length, run.clock.pendingTimers, run.listeners()]).toEqual([0, 0, 0]);
  });

  test("a marker that nobody works on any more does not stop the next compaction", async () => {
    using provider = scripted([text("again")]);
    const run = openRun(provider);
    await run.engine.submit(
      command().update(
        compactionState,
        compactionChange({ type: "start", task: { taskId: "of a dead process", upTo: "a1", startedAt: 0 } }),
      ),
    );
    await run.step();
    await run.consume(await run.notice());
    expect(run.state()).toMatchObject({ totalCompactions: 1 });
  });

  test.each([
    ["below the threshold", { policy: { autocompactThreshold: 100_000 } }],
    ["switched off", { section: { mode: "off" } }],
    ["with nothing before the newest question", { messages: [say("u", "user", LONG), say("a", "assistant", "ok")] }],
  ] satisfies [string, Setting][])("nothing happens %s", async (_name, setting) => {
    using provider = scripted([]);
    const run = openRun(provider, setting);
    await run.step();
    expect(run.state()).toBeUndefined();
  });

  test("a wrong section is refused", () => {
    const refused = expect.objectContaining({ code: "invalid_plugin_config" });
    expect(() => openRun(scripted([]), { section: { summarizerUserPrompt: "no placeholder" } })).toThrow(refused);
    expect(() => openRun(scripted([]), { section: { minSavings: 1 } })).toThrow(refused);
  });
});
