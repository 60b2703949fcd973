import { DEFAULT_SCOPE, messageId, runId, type StreamPart, threadId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { loopActions } from "../builtin/loop-actions/loop-actions.ts";
import { stopPolicy } from "../builtin/stop-policy/stop-policy.ts";
import { Landing } from "../commit/land.ts";
import { MemoryThreads } from "../commit/memory-threads.ts";
import { PoolCache } from "../inference/pool/pool-cache.ts";
import { openRun } from "../loop/open-run.ts";
import { runLoop } from "../loop/run-loop.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { boundsOf, recordedLog } from "../plugin/engine-bench.test-support.ts";
import { createRegistrySet, type RegistryInit } from "../registry/create-registry-set.ts";
import { BASIC, refusal, toolOf } from "../registry/registry.test-support.ts";
import { RegistryHandle } from "../registry/registry-handle.ts";
import { activeAgent } from "../state/active-agent.ts";
import { Door } from "../stream/door.ts";
import { Listeners } from "../stream/listeners.ts";
import { Queue } from "../stream/queue.ts";
import { countingIds, fakeClock } from "../testing/fake-clock.ts";
import { NO_CHILDREN, NO_TASKS } from "../testing/no-family.ts";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { createResolver, LIVE, type Resolution } from "./resolver.ts";

function open(init: RegistryInit) {
  const log = recordedLog();
  const handle = new RegistryHandle(createRegistrySet(init));
  const resolver = createResolver({
    snapshot: () => handle.snapshot(),
    runtimePlugins: ({ agent }) => [loopActions(), stopPolicy(agent.maxSteps, agent.stopConditions)],
    pools: new PoolCache({ clock: fakeClock(), log }),
    log,
  });
  return { handle, resolver, log };
}

/** One run that resolves everything, its handoffs too, in the view that it was given. */
async function run(view: Resolution, agentId: string) {
  const ids = countingIds("m");
  const trace = { origin: "user", runMode: "foreground", adapter: "internal" } as const;
  const identity = { threadId: threadId("t"), runId: runId("r"), agentId, ...trace };
  const activation = { intent: { type: "new-intent" }, options: { frontendTools: [] }, trace } as const;
  const store = new MemoryThreads(() => 0);
  const { signal } = new AbortController();
  const clock = fakeClock();
  const ctx = openRun(
    {
      identity,
      principal: undefined,
      plan: view.resolve(agentId),
      history: { messages: [], messageCount: 0, threadState: undefined, run: undefined, cutCalls: [], ledger: undefined },
      input: [{ id: messageId("hello"), role: "user", content: [{ type: "text", text: "hello" }] }],
      options: { frontendTools: [] },
      checkOutput: undefined,
      isContinuation: false,
      seededDecisions: [],
    },
    {
      scopeId: DEFAULT_SCOPE,
      signal,
      clock,
      bounds: boundsOf({ signal, clock }),
      ids,
      log: recordedLog(),
      listeners: new Listeners(),
      inbox: new Queue(),
      profileStore: undefined,
      seldom: new Door(() => import("../loop/seldom.ts")),
      cancelGraceMs: 1000,
      plans: { replan: async (id) => view.resolve(id) },
      children: NO_CHILDREN,
      tasks: () => NO_TASKS,
    },
    {
      landing: new Landing({
        store,
        identity,
        activation,
        input: [],
        resumed: undefined,
        messageCount: 0,
        latestAt: 0,
        clock: { now: () => 0 },
      }),
    },
  );
  return runLoop(ctx);
}

describe("createResolver", () => {
  it("compiles an agent once per set, and warns once", () => {
    let registered = 0;
    const plugin = definePlugin({ id: "x", register: () => void registered++ });
    const agents = { a: { model: "m", plugins: ["x"], sections: { odd: {} } }, b: { model: "m" } };
    const { handle, resolver, log } = open({ ...BASIC, agents, plugins: [plugin] });
    const plan = resolver.open().resolve("a");
    expect(resolver.open().resolve("a")).toBe(plan);
    expect([registered, log.warnings]).toEqual([1, ["section 'odd' is claimed by no loaded plugin"]]);
    handle.replace(handle.snapshot().registries);
    expect(resolver.open().resolve("a")).toBe(plan);
    handle.update(({ agents: all }) => void Object.assign(all, { b: { model: "m", instructions: "new" } }));
    expect(resolver.open().resolve("a")).not.toBe(plan);
    expect(registered).toBe(2);
  });

  it("warns of tools that an agent names and there are not when what finds them is there, and looks at no agent that takes all", async () => {
    const agents = { a: { model: "m", toolPatterns: ["nothing*"] }, b: { model: "m" } };
    const { resolver, log } = open({ ...BASIC, agents });
    for (const id of ["a", "b"]) resolver.open().resolve(id);
    await expect.poll(() => log.warnings).toEqual(["tool pattern 'nothing*' matches no registered tool"]);
  });

  it("remembers no failure", () => {
    const { handle, resolver } = open({ ...BASIC, agents: { a: { model: "m", plugins: ["x"] } } });
    const view = resolver.open();
    expect(refusal(() => view.resolve("a")).code).toBe("plugin_not_found");
    expect(refusal(() => view.resolve("a")).code).toBe("plugin_not_found");
    handle.update(({ plugins }) => void Object.assign(plugins, { x: definePlugin({ id: "x", register() {} }) }));
    expect(resolver.open().resolve("a").agent.id).toBe("a");
  });

  it("lists the agents of the newest registries", () => {
    const { handle, resolver } = open({ ...BASIC, agents: { z: { model: "m" }, b: { model: "m" } } });
    expect(resolver.agentIds()).toEqual(["z", "b"]);
    handle.update(({ agents }) => void Object.assign(agents, { a: { model: "m" } }));
    expect(resolver.agentIds()).toEqual(["z", "b", "a"]);
  });
});

describe("scope", () => {
  it("registry-and-runtime 37: a live resolver refuses a pinned scope, and a live-only child of a replayable parent", () => {
    const { resolver } = open(BASIC);
    const pinned = { type: "pinned", resolutionId: "res-1" } as const;
    const persistence = refusal(() => resolver.open({ scope: pinned }));
    expect(persistence).toMatchObject({ code: "unsupported_persistence", details: { resolutionId: "res-1" } });
    expect(persistence.message).toBe("unsupported persistence: pinned registry resolution requires a materialized replayable snapshot");
    const nested = refusal(() => resolver.open({ scope: LIVE, parent: pinned }));
    expect(nested.message).toBe("nested resolution scope mismatch: replayable parent run cannot spawn a live-only sub-run");
    expect(resolver.open({ parent: LIVE }).scope).toEqual({ type: "live" });
  });

  it("registry-and-runtime 38: a view keeps its snapshot when the registry is replaced, and the next view has the new one", () => {
    const { handle, resolver } = open({ ...BASIC, agents: { a: { model: "m" }, b: { model: "m", instructions: "old" } } });
    const view = resolver.open();
    handle.replace(createRegistrySet({ ...BASIC, agents: { b: { model: "m", instructions: "new" } } }));
    expect(view.resolve("b").agent.instructions).toBe("old");
    expect(view.resolve("a").agent.id).toBe("a");
    expect(view.snapshot.version).toBe(1);
    expect(resolver.open().resolve("b").agent.instructions).toBe("new");
    expect(refusal(() => resolver.open().resolve("a")).code).toBe("agent_not_found");
  });
});

describe("a run", () => {
  const handOver = defineTool({
    id: "hand_over",
    description: "Hands over to b",
    input: z.object({}),
    execute: () => reply("ok", { command: command().update(activeAgent, "b") }),
  });

  it("registry-and-runtime 38: a handoff of a run in progress resolves in the old snapshot, a new run in the new one", async () => {
    const gate = Promise.withResolvers<void>();
    const held = toolCall("hand_over", {});
    const model = scripted([
      { items: [{ type: "until", promise: gate.promise }, ...held.items] },
      (request) => text(`as ${request.system}`),
      (request) => text(`as ${request.system}`),
    ]);
    const init = { providers: { p: model }, models: BASIC.models, tools: [handOver] };
    const { handle, resolver } = open({ ...init, agents: { a: { model: "m" }, b: { model: "m", instructions: "old b" } } });
    const running = run(resolver.open(), "a");
    handle.replace(createRegistrySet({ ...init, agents: { b: { model: "m", instructions: "new b" } } }));
    gate.resolve();
    expect(await running).toMatchObject({ text: "as old b" });
    expect(await run(resolver.open(), "b")).toMatchObject({ text: "as new b" });
    model.assertDone();
  });

  it("registry-and-runtime 29: with a hook filter the step limit still ends the run", async () => {
    const endless = {
      name: "endless",
      async *stream(): AsyncGenerator<StreamPart> {
        yield { type: "tool-call-start", id: crypto.randomUUID(), name: "t" };
        yield { type: "stop", reason: "tool-use" };
      },
    };
    const plugins = [definePlugin({ id: "x", register() {} }), definePlugin({ id: "y", register() {} })];
    const { resolver } = open({
      providers: { p: endless },
      models: BASIC.models,
      tools: [toolOf("t")],
      plugins,
      agents: { a: { model: "m", plugins: ["x", "y"], activePlugins: ["x"], maxSteps: 3 } },
    });
    const result = await run(resolver.open(), "a");
    expect(result).toMatchObject({ steps: 3, termination: { type: "stopped", code: "max-steps" } });
  });
});
