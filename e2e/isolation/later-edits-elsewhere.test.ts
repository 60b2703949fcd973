import { type Backend, type BackendResult, type JsonObject, messageId, runId, threadId } from "@awaken/contract";
import { userRecord } from "@awaken/contract/spec";
import type { QueueStore } from "@awaken/contract/store";
import { command, defineProfile, defineState, STATELESS_REMOTE_PROFILE, type ToolContext } from "@awaken/runtime";
import { text } from "@awaken/runtime/testing";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { frozenIn } from "./edits.ts";
import { callT, deep, doing, expectSame, GO, type Play, type Story } from "./play.ts";

const T = threadId("t");
const R = runId("r");
const anyObject = z.custom<JsonObject>(() => true);
const notes = defineState("notes", {
  scope: "thread",
  schema: anyObject,
  initial: (): JsonObject => ({}),
  apply: (_, next: JsonObject) => next,
});
const habits = defineProfile("habits", { schema: anyObject, initial: () => ({}) });

/** Hands something in, edits it, edits what comes back and what is read, and reads once more. */
const throughPort =
  <Given>(
    make: () => Given,
    write: (store: QueueStore, given: Given) => Promise<unknown>,
    read: (store: QueueStore) => Promise<unknown>,
  ): Story =>
  async (play) => {
    const { store, edit } = play;
    await store.threads.create({ id: T });
    const given = make();
    const writing = write(store, given);
    edit(given);
    edit(await writing);
    expect(frozenIn(given)).toEqual([]);
    edit(await read(store));
    play.say(await read(store));
  };

const event = () => ({ draft: { schemaVersion: 1, threadId: T, kind: "k", payload: deep(), visibility: "public", origin: "o" } }) as const;
const user = (id: string) => ({ id: messageId(id), role: "user", content: [{ type: "text", text: "hello" }] }) as const;
const checkpoint = () =>
  ({
    ...{ schemaVersion: 1, runId: R, step: 1, threadId: T, upstreamModel: "m", partialText: "p", updatedAt: 1 },
    completedToolCalls: [{ id: "c", name: "n", input: deep() }],
  }) as unknown as Parameters<QueueStore["streamCheckpoints"]["put"]>[0];

const PORTS: Readonly<Record<string, Story>> = {
  "a new thread": throughPort(
    () => ({ id: threadId("new"), custom: deep() }),
    (store, given) => store.threads.create(given),
    (store) => store.threads.load(threadId("new")),
  ),
  "metadata of a thread": throughPort(
    () => ({ title: "x", custom: deep() }),
    (store, given) => store.threads.update(T, given),
    (store) => store.threads.load(T),
  ),
  "a profile": throughPort(
    deep,
    (store, given) => store.profiles.put("system", "k", given),
    (store) => store.profiles.list("system"),
  ),
  "a config record": throughPort(
    () => ({ namespace: "agents", id: "a", record: userRecord<JsonObject>(deep()) }),
    (store, given) => store.config.put(given),
    (store) => store.config.load({ namespace: "agents", id: "a" }),
  ),
  "a stream checkpoint": throughPort(
    checkpoint,
    (store, given) => store.streamCheckpoints.put(given),
    (store) => store.streamCheckpoints.load(R, 1),
  ),
  "an event": throughPort(
    () => [event()],
    (store, given) => store.events.append(given),
    async (store) => (await store.events.list({ type: "thread", threadId: T }, {})).items,
  ),
  "a message that waits": throughPort(
    () => [{ message: user("m1"), delivery: {} }],
    (store, given) => Reflect.apply(store.pending.append, store.pending, [T, given]),
    async (store) => (await store.pending.load(T)).entries,
  ),
  "a commit of somebody's own": throughPort(
    () => ({ threadId: T, runId: R, events: [event()], messageDelta: { messages: [user("m1")], expectedMessageCount: 0 } }),
    (store, given) => store.commit(given),
    async (store) => [await store.threads.loadHead(T), (await store.events.list({ type: "thread", threadId: T }, {})).items],
  ),
};

type Asked = Parameters<Backend["run"]>[0];
const said = (output: BackendResult["output"] = { text: "ok", artifacts: [] }): BackendResult => ({
  ...{ agentId: "far", status: { type: "completed" }, termination: { type: "natural-end" }, output, steps: 1 },
});

/** Asks an agent that runs elsewhere twice, and edits what the backend holds when it has answered. */
const elsewhere =
  (run: (asked: Asked, play: Play) => Promise<BackendResult>): Story =>
  async (play) => {
    const backend: Backend = { profile: STATELESS_REMOTE_PROFILE, run: (asked) => run(asked, play) };
    await using runtime = play.open([], {
      backends: [{ type: "fake", build: () => backend }],
      agents: { far: { remote: { type: "fake", baseUrl: "https://far.example" } } },
    });
    for (const input of ["one", "two"]) {
      const result = await runtime.run({ agent: "far", thread: "t", input });
      play.edit();
      play.say(result);
      play.edit(result);
    }
  };

const STORIES: Readonly<Record<string, Story>> = {
  "what a backend gave beside its text": elsewhere(async (_, play) =>
    play.hold(said({ text: "ok", artifacts: [{ id: "a", content: deep() }], raw: deep() })),
  ),
  "what a backend keeps, and was given to keep": elsewhere(async (asked, play) => {
    if (asked.role !== "root") return said();
    play.say(asked.remote.stored);
    play.edit(asked.remote.stored);
    const keeping = asked.remote.keep(play.hold(deep()));
    play.edit();
    await keeping;
    return said();
  }),
  "the messages that a backend is asked with": elsewhere(async (asked, { edit }) => {
    edit(asked.messages, asked.newMessages);
    return said();
  }),
  "state of a child, as its caller is told": async (play) => {
    const ask = async ({ runAgent }: ToolContext) => {
      const { state, threadState, output } = await runAgent({ agent: "child", input: "do" });
      play.say(state, threadState, output);
      return play.edit(state, threadState, output) ?? "x";
    };
    await using runtime = play.open([callT(), text("child"), text("end")], {
      tools: [doing(ask)],
      agents: { assistant: { model: "fast", tools: ["t"] }, child: { model: "fast", plugins: ["p"], tools: [] } },
      register: (r) => {
        r.state(notes);
        r.hook("stepStart", () => command().update(notes, deep()));
      },
    });
    await runtime.run(GO);
  },
  "requests that wait in the queue": async (play) => {
    await using runtime = play.open([]);
    // From here on nothing has to be loaded first.
    await runtime.send("warm", "x", { mode: "queue" });
    const pick = { id: "pick", description: "", parameters: { type: "object", properties: deep() }, metadata: deep() };
    const input = [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }], id: "m1" }];
    const beside = {
      frontendContext: deep(),
      extras: deep(),
      principal: deep(),
      frontendTools: [pick],
      overrides: { reasoningEffort: { budget: 5 } },
    };
    const starting = runtime.start(play.lend({ ...GO, ...beside, input }));
    const sending = runtime.send("t", play.lend([{ ...input[0], role: "user" as const, content: "more", id: "m2" }]), { mode: "queue" });
    play.edit();
    play.edit({ ...(await starting) }, await sending, (await runtime.pending.list("t")).entries);
    play.say((await runtime.pending.list("t")).entries);
  },
  "how a task is called, and who a message is for": async (play) => {
    const start = async ({ tasks, sendMessage }: ToolContext) => {
      await tasks.spawn({ name: "warm" }, async () => 1);
      const [options, to] = [
        play.hold({ type: "job", name: "n", description: "d" }),
        play.hold({ relation: "agent" as const, threadId: "other" }),
      ];
      const calling = [tasks.spawn(options, async () => 1), sendMessage(to, "hello")];
      play.edit();
      play.edit(await Promise.all(calling), tasks.list());
      play.say(tasks.list().map(({ name, taskType, description }) => [name, taskType, description]));
      return "x";
    };
    await using runtime = play.open([callT(), text("end"), text("2"), text("3")], { tools: [doing(start)] });
    await runtime.run(GO);
  },
  "what is read of a run: its events, its result, what a rewind took": async (play) => {
    await using runtime = play.open([text("one"), text("two"), text("three")]);
    const { runId: first } = await runtime.run(GO);
    for (let time = 0; time < 2; time++) {
      for await (const each of runtime.attach(first)) {
        play.say(each);
        play.edit(each);
      }
    }
    play.edit(await runtime.wait(first));
    play.say(await runtime.wait(first));
    await runtime.run({ ...GO, input: [{ role: "user", content: "more", id: "m2" }] });
    const options = play.hold({ toMessageId: "m2" });
    const going = runtime.rewind("t", options);
    play.edit();
    const gone = await going;
    play.say(gone);
    play.edit(gone);
    await runtime.run(GO);
  },
  "a profile, when it was written, and as it was read from a store": async (play) => {
    const use = async ({ profile }: ToolContext) => {
      const value = deep();
      await profile.write(habits, "x", value);
      play.edit(value, await profile.read(habits, "x"));
      play.say(await profile.read(habits, "x"));
    };
    await using runtime = play.open([callT(), text("end")], { tools: [doing(use)], register: (r) => r.profile(habits) });
    await runtime.run(GO);
  },
  "a profile, when it was written, without a store": async (play) => {
    const use = async ({ profile }: ToolContext) => {
      const value = deep();
      await profile.write(habits, "x", value);
      play.edit(value);
      play.say(await profile.read(habits, "x"));
    };
    play.hasStore = false;
    await using runtime = play.open([callT(), text("end")], { tools: [doing(use)], register: (r) => r.profile(habits) });
    await runtime.run(GO);
  },
};

describe("later edits do not reach the store through a port of its own", () => {
  it.each(Object.entries(PORTS))("%s", (_, story) => expectSame(story));
});

describe("later edits reach neither the records nor the model nor whoever asks later", () => {
  it.each(Object.entries(STORIES))("%s", (_, story) => expectSame(story));
});
