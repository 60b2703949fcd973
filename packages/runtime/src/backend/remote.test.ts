import { type AgentEvent, AwakenError, type Backend, type BackendProfile, type BackendResult, runId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { checkEvents } from "../testing/event-checker.ts";
import { text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import type { BackendFactory } from "./backend-factory.ts";
import { STATELESS_REMOTE_PROFILE } from "./profile.ts";

type Request = Parameters<Backend["run"]>[0];

const completed = (said: string): BackendResult => ({
  agentId: "far",
  status: { type: "completed" },
  termination: { type: "natural-end" },
  output: { text: said, artifacts: [] },
  steps: 1,
});

/** A backend that answers as it is told, and remembers what it was asked. */
function fake(run: (request: Request) => Promise<BackendResult>, more: Partial<BackendProfile> = {}, abort?: Backend["abort"]) {
  const requests: Request[] = [];
  const backend: Backend = {
    profile: { ...STATELESS_REMOTE_PROFILE, ...more },
    run: (request) => {
      requests.push(request);
      return run(request);
    },
    ...(abort === undefined ? undefined : { abort }),
  };
  const factory: BackendFactory = { type: "fake", build: () => backend };
  return { requests, factory };
}

const FAR = { remote: { type: "fake", baseUrl: "https://far.example" }, description: "Knows the law" };

function open(factory: BackendFactory, init: Partial<RuntimeInit> = {}, turns: Parameters<typeof scripted>[0] = []) {
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: { far: FAR, lead: { model: "fast", delegates: ["far"] } },
    backends: [factory],
    log: { warn() {}, error() {} },
    store: memoryStore(),
    ...init,
  });
  return { runtime, model };
}

async function collect(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

describe("a root run of an agent that runs elsewhere", () => {
  test("multi-agent 3: it has the events and the records of a run; a decision while it runs is refused with a code, and it completes", async () => {
    const gate = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    const { factory, requests } = fake(async () => {
      began.resolve();
      await gate.promise;
      return completed("by law, yes");
    });
    const { runtime } = open(factory);
    const run = runtime.stream({ agent: "far", thread: "t", input: "may I?" });
    const reading = collect(run);
    await began.promise;
    await expect(runtime.decide("call-1", { action: "approve", run: run.id })).rejects.toMatchObject({ code: "channel_closed" });
    gate.resolve();
    const events = await reading;
    checkEvents(events);
    const told = events.map(({ type }) => type).filter((type) => type !== "state-snapshot");
    expect(told).toEqual(["run-start", "input-accepted", "step-start", "text-delta", "inference-end", "step-end", "run-end"]);
    expect(await run.result).toMatchObject({ status: "done", text: "by law, yes", steps: 1 });
    expect(requests).toMatchObject([{ role: "root", agentId: "far", isContinuation: false, messages: [{ role: "user" }] }]);
    const stored = await runtime.store?.runs.load(run.id);
    expect(stored).toMatchObject({ status: "done", agentId: "far", outcome: { response: "by law, yes" } });
    await runtime.close();
  });

  test("registry-and-runtime 51: what its backend cannot do is refused before any request is sent", async () => {
    const { factory, requests } = fake(async () => completed("x"));
    const { runtime } = open(factory);
    const pick = { id: "pick", description: "", parameters: { type: "object" } };
    await expect(runtime.run({ agent: "far", input: "x", overrides: { temperature: 1 } })).rejects.toMatchObject({
      code: "capability_mismatch",
      message: "execution failed: agent 'far' backend does not support: overrides",
    });
    await expect(runtime.run({ agent: "far", input: "x", overrides: { temperature: 1 }, frontendTools: [pick] })).rejects.toThrow(
      "does not support: overrides, frontendTools",
    );
    expect(requests).toEqual([]);
    await runtime.close();
  });

  test("multi-agent 24: what it keeps is on record before it goes on, with the run as running, and the next turn of the thread has it", async () => {
    const store = memoryStore();
    const seen: unknown[] = [];
    const { factory } = fake(async (request) => {
      if (request.role !== "root") throw new Error("not a root");
      seen.push(request.remote.stored);
      await request.remote.keep({ task: seen.length });
      const run = await store.runs.load(request.identity.runId);
      const head = await store.threads.loadHead(request.identity.threadId);
      seen.push([run?.status, head?.state?.extensions]);
      return completed("ok");
    });
    const { runtime } = open(factory, { store });
    await runtime.run({ agent: "far", thread: "t", input: "1" });
    await runtime.run({ thread: "t", input: "2" });
    expect(seen).toEqual([
      undefined,
      ["running", expect.objectContaining({ "__runtime.remote_backend": { task: 1 } })],
      { task: 1 },
      ["running", expect.objectContaining({ "__runtime.remote_backend": { task: 3 } })],
    ]);
    await runtime.close();
  });

  test("multi-agent 5: one that asks back waits for input without a ticket, and goes on with the next message", async () => {
    const { factory, requests } = fake(async (request) =>
      request.role === "root" && request.isContinuation
        ? completed("thanks")
        : { ...completed("which one?"), status: { type: "waiting-input", message: "which one?" }, termination: { type: "suspended" } },
    );
    const { runtime } = open(factory);
    const waiting = await runtime.run({ agent: "far", thread: "t", input: "that" });
    expect(waiting).toMatchObject({ status: "waiting", waitingReason: "input-required", tickets: [], text: "which one?" });
    const done = await runtime.run({ thread: "t", input: "the red one" });
    expect(done).toMatchObject({ status: "done", text: "thanks", runId: waiting.runId });
    expect(requests).toHaveLength(2);
    await runtime.close();
  });

  test("multi-agent 4: a failure, a timeout and a backend that throws are how the run ended", async () => {
    const ends = [
      async () => ({ ...completed(""), status: { type: "failed", message: "no" } as const }),
      async () => ({ ...completed(""), status: { type: "timeout" } as const }),
      async () => {
        throw new AwakenError("remote_failed", "remote error: gone");
      },
    ];
    const results = [];
    for (const end of ends) {
      const { runtime } = open(fake(end).factory);
      results.push(await runtime.run({ agent: "far", input: "x" }));
      await runtime.close();
    }
    expect(results).toMatchObject([
      { status: "failed", error: { code: "remote_failed", message: "no" }, text: "" },
      { status: "stopped", limit: "timeout" },
      { status: "failed", error: { code: "remote_failed", message: "remote error: gone" } },
    ]);
  });

  test("multi-agent 19: a cancel aborts the signal, tells the other side with what was kept, and does not wait for it", async () => {
    const began = Promise.withResolvers<void>();
    const aborted: unknown[] = [];
    const { factory, requests } = fake(
      async (request) => {
        if (request.role === "root") await request.remote.keep({ task: "t-1" });
        began.resolve();
        return new Promise(() => {});
      },
      { cancellation: "remote-abort" },
      async ({ stored }) => {
        aborted.push(stored);
        throw new Error("cannot be reached");
      },
    );
    const { runtime } = open(factory);
    const run = runtime.stream({ agent: "far", thread: "t", input: "x" });
    await began.promise;
    await runtime.cancel(run.id);
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(requests[0]?.signal.aborted).toBe(true);
    expect(aborted).toEqual([{ task: "t-1" }]);
    await runtime.close();
  });

  test("multi-agent 31: a run cannot be handed over to it", async () => {
    const { factory } = fake(async () => completed("x"));
    const go = defineTool({ id: "go", description: "", input: z.object({}), execute: async () => "x" });
    const { runtime, model } = open(factory, { agents: { far: FAR, lead: { model: "fast", handoffs: ["far"] } }, tools: [go] }, [
      text("hi"),
    ]);
    await runtime.run({ agent: "lead", input: "x" });
    expect(model.requests[0]?.tools.map(({ id }) => id)).toEqual(["go"]);
    await runtime.close();
  });
});

describe("a delegate that runs elsewhere", () => {
  const asks = toolCall("agent_run_far", { prompt: "may I?" }, { id: "c1" });

  test("multi-agent 13: it is asked with the prompt and who asks; a seed is refused with `delegate-state-seed`", async () => {
    const { factory, requests } = fake(async () => completed("yes"));
    const seeded = defineTool({
      id: "seeded",
      description: "",
      input: z.object({}),
      execute: async (_, ctx) => (await ctx.runAgent({ agent: "far", input: "x", state: { a: 1 } })).status,
    });
    const { runtime, model } = open(factory, { tools: [seeded] }, [asks, toolCall("seeded", {}), text("done")]);
    const run = runtime.stream({ agent: "lead", thread: "t", input: "x" });
    const events = await collect(run);
    checkEvents(events);
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(requests).toMatchObject([
      {
        role: "delegate",
        parent: { runId: run.id, threadId: "t", toolCallId: "c1" },
        policy: { persistence: "ephemeral", continuation: "disabled" },
        messages: [{ role: "user", content: [{ text: "may I?" }] }],
      },
    ]);
    expect(JSON.stringify(model.requests[2]?.messages.at(-1))).toContain("does not support: delegate-state-seed");
    expect(events.filter(({ type }) => type === "child-start" || type === "child-end")).toMatchObject([
      { type: "child-start", agentId: "far", agentPath: ["lead", "far"] },
      { type: "child-end", outcome: { status: "done", response: "yes" } },
    ]);
    await runtime.close();
  });

  test("multi-agent 16: one that waits for input leaves the call waiting, and the answer is its result", async () => {
    const { factory } = fake(async () => ({ ...completed(""), status: { type: "waiting-input", message: "which one?" } }));
    const { runtime, model } = open(factory, {}, [asks, text("done")]);
    const waiting = await runtime.run({ agent: "lead", input: "x" });
    expect(waiting).toMatchObject({
      status: "waiting",
      tickets: [
        {
          action: "agent-delegate:input-required",
          message: "which one?",
          parameters: { agentId: "far", backendStatus: "waiting-input: which one?", toolCallId: "c1", childRunId: expect.any(String) },
        },
      ],
    });
    const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
    const decided = await runtime.decide(ticket?.id ?? "", { action: "answer", result: "the red one" });
    expect(await decided.result).toMatchObject({ status: "done" });
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("the red one");
    await runtime.close();
  });

  test("multi-agent 19: a parent that is cancelled aborts its signal", async () => {
    const began = Promise.withResolvers<AbortSignal>();
    const { factory } = fake(
      (request) =>
        new Promise((resolve) => {
          began.resolve(request.signal);
          request.signal.addEventListener("abort", () => resolve({ ...completed(""), status: { type: "cancelled" } }));
        }),
      { cancellation: "remote-abort" },
    );
    const { runtime } = open(factory, {}, [asks]);
    const run = runtime.stream({ agent: "lead", input: "x" });
    const signal = await began.promise;
    await runtime.cancel(run.id);
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(signal.aborted).toBe(true);
    await runtime.close();
  });

  test("multi-agent 9: an endpoint that no backend takes is an error that the model reads", async () => {
    const { runtime, model } = open(fake(async () => completed("x")).factory, { backends: [] }, [asks, text("done")]);
    expect(await runtime.run({ agent: "lead", input: "x" })).toMatchObject({ status: "done" });
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("unsupported remote backend `fake` for agent `far`");
    await runtime.close();
  });
});

describe("sources of remote agents", () => {
  const spec = (id: string, baseUrl = "https://a.example") => ({ id, remote: { type: "fake", baseUrl } });

  test("registry-and-runtime 54: two sources may have an agent of one id, and a local one wins for the plain id", async () => {
    const { factory, requests } = fake(async ({ agentId }) => ({ ...completed(`I am ${agentId}`), agentId }));
    const remoteAgents = [
      { id: "a", discover: async () => [spec("x"), spec("y")] },
      { id: "b", discover: async () => [spec("x", "https://b.example"), spec("y", "https://b.example")] },
    ];
    const { runtime } = open(factory, { agents: { x: { model: "fast" } }, remoteAgents }, [text("I am local")]);
    await runtime.initialize();
    expect(runtime.resolver.agentIds()).toEqual(["x", "a/x", "a/y", "b/x", "b/y"]);
    const said = async (agent: string) => (await runtime.run({ agent, input: "who?" })).text;
    expect(await said("x")).toBe("I am local");
    expect([await said("a/x"), await said("b/x"), await said("y")]).toEqual(["I am a/x", "I am b/x", "I am a/y"]);
    expect(requests).toHaveLength(3);
    await runtime.close();
  });

  test("registry-and-runtime 55, multi-agent 69: a source that fails makes initialize fail naming it, and what was found before still resolves", async () => {
    let isBroken = false;
    const { factory } = fake(async () => completed("here"));
    const remoteAgents = [
      {
        id: "lab",
        discover: async () => {
          if (isBroken) throw new Error("503");
          return [spec("ada")];
        },
      },
    ];
    const { runtime, model } = open(factory, { agents: { lead: { model: "fast", delegates: ["lab/ada"] } }, remoteAgents }, [
      toolCall("agent_run_lab_ada", { prompt: "x" }),
      text("done"),
    ]);
    await runtime.initialize();
    const { version } = runtime.registry;
    isBroken = true;
    await expect(runtime.initialize()).rejects.toMatchObject({
      code: "resolve_failed",
      message: "resolve failed: remote agent discovery failed: lab: 503",
    });
    expect(runtime.registry.version).toBe(version);
    expect(await runtime.run({ agent: "lead", input: "x" })).toMatchObject({ status: "done", text: "done" });
    expect(model.requests[0]?.tools.map(({ id }) => id)).toEqual(["agent_run_lab_ada"]);
    await runtime.close();
  });

  test("registry-and-runtime 60: a resolver that is handed in is asked for every agent", async () => {
    const { factory } = fake(async () => completed("x"));
    const { runtime: inner } = open(factory, { agents: { lead: { model: "fast" } } }, [text("from the other registry")]);
    const asked: string[] = [];
    const resolver: RuntimeInit["resolver"] = {
      agentIds: () => ["alias"],
      open: (request) => {
        const opened = inner.resolver.open(request);
        return {
          ...opened,
          ready: () => undefined,
          resolve: (id) => {
            asked.push(id);
            return opened.resolve("lead");
          },
        };
      },
    };
    const runtime = createRuntime({ resolver, log: { warn() {}, error() {} } });
    expect(await runtime.run({ agent: "alias", input: "x" })).toMatchObject({ status: "done", text: "from the other registry" });
    expect(asked).toEqual(["alias"]);
    await runtime.close();
    await inner.close();
  });
});

test("multi-agent 10: a remote delegate leaves no record of its own", async () => {
  const store = memoryStore();
  const { runtime } = open(fake(async () => completed("yes")).factory, { store }, [
    toolCall("agent_run_far", { prompt: "x" }),
    text("done"),
  ]);
  const { runId: id } = await runtime.run({ agent: "lead", input: "x" });
  expect(await store.runs.count({ parentRunId: runId(id) })).toBe(0);
  await runtime.close();
});
