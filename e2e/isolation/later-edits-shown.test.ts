import {
  type AgentEvent,
  type Backend,
  type BackendResult,
  type InferenceRequest,
  type JsonObject,
  messageId,
  runId,
  type Ticket,
  threadId,
  ticketId,
  toolCallId,
  type Usage,
} from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import { ask, defineProfile, defineState, defineTool, STATELESS_REMOTE_PROFILE, systemClock, type ToolContext } from "@awaken/runtime";
import { countingIds, scripted, text, ticketsOf } from "@awaken/runtime/testing";
import { describe, it } from "vitest";
import * as z from "zod";
import { anything, asOfNow, callT, deep, doing, expectSame, GO, type Play, type Register, type Story } from "./play.ts";

const T = threadId("t");
const anyObject = z.custom<JsonObject>(() => true);
const habits = defineProfile("habits", { schema: anyObject, initial: () => ({}) });
const seeded = defineState("seeded", { schema: anyObject, initial: (): JsonObject => ({}), apply: (_, next: JsonObject) => next });

const used = (): Usage => ({ inputTokens: 1, outputTokens: 2, totalTokens: 3 });
const said = (): BackendResult => ({
  ...{ agentId: "far", status: { type: "completed" }, termination: { type: "natural-end" }, steps: 1 },
  output: { text: "ok", artifacts: [] },
});
const ticketElsewhere = (): Ticket => ({
  ...{ id: ticketId("tk"), runId: runId("far"), threadId: threadId("far"), toolCallId: toolCallId("c9"), toolName: "pay" },
  ...{ input: deep(), action: "approve", resumeMode: "replay-tool-call", message: "Pay?", parameters: deep(), updatedAt: 1 },
});
const decidedElsewhere = (): AgentEvent => ({
  ...{ type: "decision-taken", runId: runId("far"), ticketId: ticketId("tk"), toolCallId: toolCallId("c9"), toolName: "pay" },
  ...{ decidedAt: 1, action: "approve", metadata: deep(), input: deep() },
});
const pick = () => ({ id: "pick", description: "", parameters: { type: "object", properties: deep() }, metadata: deep() });
const asked = () => ({
  ...GO,
  frontendTools: [pick()],
  overrides: { reasoningEffort: { budget: 5 } },
  extras: deep(),
  frontendContext: deep(),
});

/** Asks an agent that runs elsewhere; what its backend holds is edited when it has answered. */
const elsewhere =
  (run: (asked: Parameters<Backend["run"]>[0], play: Play) => BackendResult): Story =>
  async (play) => {
    const takesAll = { frontendTools: "executable", overrides: "model-and-params" } as const;
    const backend: Backend = { profile: { ...STATELESS_REMOTE_PROFILE, ...takesAll }, run: async (given) => run(given, play) };
    const far = { remote: { type: "fake", baseUrl: "https://far.example" } };
    const ask = ({ runAgent }: ToolContext) => runAgent({ agent: "far", input: "do" }).then(() => play.edit() ?? "x");
    await using runtime = play.open([callT(), text("end")], {
      tools: [doing(ask)],
      backends: [{ type: "fake", build: () => backend }],
      agents: { far, assistant: { model: "fast" } },
    });
    const { frontendTools, overrides } = asked();
    play.say(await runtime.run({ agent: "far", thread: "t", input: "go", frontendTools, overrides }));
    play.edit();
    const followed = runtime.stream({ ...GO, thread: "u" });
    const events: AgentEvent[] = [];
    for await (const event of followed) events.push(event);
    play.say(await followed.result);
    play.edit();
    play.say(events);
  };

/** Edits what hooks, and the like, were shown of each run. */
const shown =
  (register: (play: Play) => Register): Story =>
  async (play) => {
    const tools = [doing((_, input) => ({ got: input }))];
    await using runtime = play.open([callT(deep()), text("one"), text("two")], { tools, register: register(play) });
    play.say(await runtime.run(asked()));
    play.say(await runtime.run(GO));
  };

const inTool =
  (work: (context: ToolContext, play: Play) => unknown, more: Parameters<Play["open"]>[1] = {}): Story =>
  async (play) => {
    const turns = [callT(), ...["one", "two", "three"].map((each) => text(each))];
    await using runtime = play.open(turns, { tools: [doing((context) => work(context, play))], ...more });
    play.say(await runtime.run(GO));
    play.edit();
    await runtime.run(GO);
  };

const STORIES: Readonly<Record<string, Story>> = {
  "options of a run, edited by a hook: extras": shown((play) => (r) => r.hook("stepStart", ({ extras }) => play.edit(extras))),
  "options of a run, edited by a hook: tools": shown((play) => (r) => r.hook("stepStart", ({ tools }) => play.edit(tools))),
  "options of a run, and messages made for it, edited by the model": async (play) => {
    const model = scripted([callT(), text('{"a":[1]}'), text("two")]);
    const stream = (request: InferenceRequest, options: Parameters<typeof model.stream>[1]) => {
      play.say(request);
      const { model: _name, routing: _routing, ...rest } = request;
      play.edit(rest);
      return model.stream(request, options);
    };
    const house = { ...model, stream };
    await using runtime = play.open([], { tools: [doing(() => "x")], providers: { house } });
    await runtime.run({ ...asked(), output: z.object({ a: z.array(z.number()) }) });
    await runtime.run(GO);
  },
  "messages made for the model, edited by a transform": shown((play) => (r) => {
    r.transform((messages) => {
      play.edit(...messages);
      return messages;
    });
  }),
  "parameters and metadata of a tool, after it was declared": async (play) => {
    const [parameters, metadata] = [play.lend({ type: "object", properties: deep() }), play.lend(deep())];
    const tool = defineTool({ id: "t", description: "", input: anything, parameters, metadata, execute: (): unknown => "x" });
    await using runtime = play.open([text("one"), text("two")], { tools: [tool] });
    await runtime.run(GO);
    play.edit();
    await runtime.run(GO);
  },
  "the identity of a run, edited by a hook": shown((play) => (r) => r.hook("stepStart", ({ identity }) => play.edit(identity))),
  "the result of a call, edited by a hook": shown((play) => (r) => r.hook("afterToolExecute", ({ result }) => play.edit(result))),
  "the result of a call, edited by what is around it": shown(
    (play) => (r) => r.around("tool", (_, begin) => void begin().then((result) => play.edit(result))),
  ),
  "the answer of a model, edited by what is around it": shown(
    (play) => (r) => r.around("inference", (_, begin) => void begin().then((turn) => play.edit(turn))),
  ),
  "how a call was resumed, edited by its tool": async (play) => {
    const execute = (_: unknown, { resume }: ToolContext): unknown => play.edit(resume) ?? "x";
    const tool = defineTool({ ...{ id: "t", description: "", input: anything }, parameters: {}, approve: () => ask("?"), execute });
    await using runtime = play.open([callT(), text("end")], { tools: [tool] });
    const [ticket] = ticketsOf(await runtime.run(GO));
    await (await runtime.decide(ticket?.id ?? "", { action: "approve", id: "d1", metadata: deep() })).result;
  },
  "what a task says and gives": inTool(async ({ tasks }, play) => {
    const id = await tasks.spawn({}, async (task) => {
      task.emit("tick", play.hold(deep()));
      play.edit();
      return play.hold(deep());
    });
    play.edit(await tasks.settled(id));
    play.edit();
    return "x";
  }),
  "values for the state of a child, and what it used": inTool(
    async ({ runAgent }, play) => {
      const state = { seeded: deep() };
      const running = runAgent({ agent: "child", input: "do", state });
      play.edit(state.seeded);
      const { usage } = await running;
      return play.edit(usage) ?? "x";
    },
    {
      agents: { assistant: { model: "fast" }, child: { model: "fast", plugins: ["p"], tools: [] } },
      register: (r) => r.state(seeded),
    },
  ),
  "what a backend used": elsewhere((_, play) => ({ ...said(), usage: play.hold(used()) })),
  "what a backend is asked with": elsewhere((given, play) => {
    if (given.role === "root") play.edit(given.frontendTools, given.overrides);
    else play.edit(given.role);
    return said();
  }),
  "events of a backend": elsewhere(({ emit }, play) => {
    const event: AgentEvent = { type: "inference-end", provider: "x", model: "y", usage: used(), durationMs: 1, finishReason: "end-turn" };
    emit(play.lend(event));
    play.edit();
    return said();
  }),
  "what a delegate that runs elsewhere tells of how far it is, and of what it waits for": elsewhere(({ emit }, play) => {
    const content = Object.freeze(deep());
    const events: AgentEvent[] = [
      { type: "activity-snapshot", messageId: "c1", activityType: "far", content: play.hold(content) },
      { type: "activity-snapshot", messageId: "c1", activityType: "near", content: play.lend(deep()) },
      { type: "ticket-open", ticket: play.lend(ticketElsewhere()) },
      play.lend(decidedElsewhere()),
    ];
    for (const event of events) emit(event);
    play.edit();
    return said();
  }),
  "a profile, while it is written": inTool(
    async ({ profile }, play) => {
      await profile.list("x");
      const value = deep();
      const writing = profile.write(habits, "x", value);
      play.edit(value);
      await writing;
      play.say(await profile.read(habits, "x"));
    },
    { register: (r) => r.profile(habits) },
  ),
  "a profile that was read, without a store": async (play) => {
    const use = async ({ profile }: ToolContext) => {
      await profile.write(habits, "x", deep());
      play.edit(await profile.read(habits, "x"));
      play.say(await profile.read(habits, "x"));
    };
    play.hasStore = false;
    await using runtime = play.open([callT(), text("one")], { tools: [doing(use)], register: (r) => r.profile(habits) });
    await runtime.run(GO);
  },
  "an edit of a message that waits": async (play) => {
    await using runtime = play.open([]);
    await runtime.send("t", [{ role: "user", content: "x", id: "m1" }], { mode: "queue" });
    const [entry] = (await runtime.pending.list("t")).entries;
    const content = [{ type: "text" as const, text: "better" }];
    const editing = runtime.pending.edit("t", "m1", { revision: entry?.revision ?? 0, message: { role: "user", content } });
    play.edit();
    for (const part of content) if (play.isEdited) part.text = "worse";
    await editing;
  },
  "what somebody found out about a lost call": async (play) => {
    const { queue: _q, dispatches: _d, pending: _p, ...store } = play.store;
    const began = Promise.withResolvers<string>();
    const tools = [doing(({ identity }) => new Promise(() => began.resolve(identity.runId)))];
    const lost = play.open([callT()], { tools, store });
    void lost.run(GO).catch(() => {});
    const run = await began.promise;
    const runtime = play.open([text("one"), text("two")], { tools, store, ids: countingIds("other") });
    const [ticket] = ticketsOf(await runtime.resume(run));
    await runtime.run(GO);
    const data = deep();
    const telling = runtime.reconcile(ticket?.id ?? "", { type: "done", data });
    play.edit(data);
    await telling;
    play.say(asOfNow(await store.ledger.list(runId(run))));
  },
  "what a running tool tells of itself, frozen on the outside alone": async (play) => {
    const over = Promise.withResolvers<void>();
    const tell = ({ activity }: ToolContext) => {
      activity("k", play.hold(Object.freeze(deep())));
      return over.promise;
    };
    await using runtime = play.open([callT(), text("end")], { tools: [doing(tell)], clock: systemClock });
    const run = runtime.stream(GO);
    for (let time = 0; time < 2; time++) {
      for await (const event of runtime.attach(run.id)) {
        if (event.type !== "activity-snapshot") continue;
        play.say(event);
        break;
      }
      play.edit();
    }
    over.resolve();
    await run.result;
  },
  "writes that stand in line behind a transaction": async ({ store, edit }) => {
    await store.threads.create({ id: T });
    const gate = Promise.withResolvers<void>();
    const held = store.transaction(() => gate.promise);
    const [profile, custom, spec] = [deep(), deep(), deep()];
    const record = userRecord<JsonObject>(spec);
    const part = { type: "text" as const, text: "first" };
    const messages = [{ id: messageId("m1"), role: "user" as const, content: [part] }];
    const writes = [
      store.profiles.put("agent:x", "k", profile),
      store.threads.update(T, { custom }),
      store.config.put({ namespace: "agents", id: "a", record }),
      store.commit({ threadId: T, runId: runId("r"), messageDelta: { messages, expectedMessageCount: 0 } }),
    ];
    edit(profile, custom, spec);
    gate.resolve();
    await held;
    await Promise.all(writes);
  },
};

describe("later edits reach neither the records nor the model nor whoever asks later", () => {
  it.each(Object.entries(STORIES))("%s", (_, story) => expectSame(story));
});
