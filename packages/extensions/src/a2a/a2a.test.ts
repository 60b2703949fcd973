import { type JsonObject, messageId, messageText, threadId } from "@awaken/contract";
import { type BackendFactory, defineTool, STATELESS_REMOTE_PROFILE } from "@awaken/runtime";
import { checkEvents, fakeClock, text, toolCall } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { afterEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { filePart, type TestAgent, textPart } from "./a2a.test-support.ts";
import { collect, Harness, until } from "./harness.test-support.ts";
import { a2a } from "./index.ts";

const harness = new Harness();
afterEach(() => harness.close());

const T = threadId("t");
const asked = (far: TestAgent) => far.seen.map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/, "<task>")}`);
const SUBMIT = "POST /message:send";
const SUBSCRIBE = "POST /tasks/<task>:subscribe";
const POLL = "GET /tasks/<task>";
const CANCEL = "POST /tasks/<task>:cancel";

describe("a root run of an A2A agent", () => {
  test("an answer without a task is the answer, and no connection stays open", async () => {
    const far = await harness.agent({ act: (turn) => turn.say([textPart(`you said ${turn.text}`), filePart("a,b", "text/csv", "a.csv")]) });
    const { runtime, store } = harness.open(far.url);
    const run = runtime.stream({ agent: "far", thread: "t", input: "may I?" });
    checkEvents(await collect(run));
    expect(await run.result).toMatchObject({ status: "done", text: "you said may I?", steps: 1 });
    expect(asked(far)).toEqual([SUBMIT]);
    expect(far.turns[0]?.message).toMatchObject({ contextId: "t", messageId: expect.stringMatching(new RegExp(`^${run.id}:`)) });
    const stored = await store.runs.load(run.id);
    expect(stored?.state?.extensions["__runtime.backend_output"]).toMatchObject({
      artifacts: [{ mediaType: "text/csv", content: [{ raw: Buffer.from("a,b").toString("base64"), filename: "a.csv" }] }],
    });
    await until(() => far.sockets.size === 0);
  });

  test("multi-agent 28: a task is followed to its end; chunks are one text, and a file without text is in `output.artifacts`", async () => {
    const gate = Promise.withResolvers<void>();
    const far = await harness.agent({
      async act(turn) {
        turn.accept();
        turn.status("TASK_STATE_WORKING", "reading");
        await gate.promise;
        turn.artifact("scan", [filePart("%PDF", "application/pdf", "law.pdf")]);
        turn.artifact("answer", [textPart("by ")]);
        turn.artifact("answer", [textPart("law, ")], true);
        turn.artifact("answer", [textPart("yes"), textPart("See the scan.")], true);
        turn.status("TASK_STATE_COMPLETED");
      },
    });
    const { runtime, store } = harness.open(far.url);
    const run = runtime.stream({ agent: "far", thread: "t", input: "may I?" });
    const reading = collect(run);
    await until(() => far.seen.length === 2);
    gate.resolve();
    const events = await reading;
    checkEvents(events);
    expect(await run.result).toMatchObject({ status: "done", text: "by law, yes\n\nSee the scan." });
    expect(asked(far)).toEqual([SUBMIT, SUBSCRIBE]);
    const [taskId] = far.turns.map((turn) => turn.taskId);
    expect(events.filter(({ type }) => type === "activity-snapshot")).toMatchObject([
      {
        activityType: "a2a-task-progress",
        messageId: taskId,
        replace: true,
        content: { schema: "a2a-task-progress.v1", taskId, contextId: "t" },
      },
      { content: { state: "TASK_STATE_WORKING", text: "reading" } },
      { content: { state: "TASK_STATE_COMPLETED", artifacts: [{ id: "scan", mediaType: "application/pdf" }, { id: "answer" }] } },
    ]);
    const stored = await store.runs.load(run.id);
    expect(stored?.state?.extensions["__runtime.backend_output"]).toMatchObject({
      artifacts: [
        { id: "scan", name: "scan", mediaType: "application/pdf", content: [{ raw: "JVBERg==", filename: "law.pdf" }] },
        { id: "answer", content: [{ text: "by law, yes" }, { text: "See the scan." }] },
      ],
    });
    await until(() => far.sockets.size === 0);
  });

  test("multi-agent 24: a task that asks is answered, in the same context; the turn after it is another task", async () => {
    const far = await harness.agent({
      act(turn) {
        const isAnswer = turn.task !== undefined;
        turn.accept();
        if (!isAnswer && turn.text === "that") return turn.status("TASK_STATE_INPUT_REQUIRED", "which one?");
        turn.status("TASK_STATE_WORKING");
        turn.artifact("answer", [textPart(`got ${turn.text}`)]);
        turn.status("TASK_STATE_COMPLETED");
      },
    });
    const { runtime, store } = harness.open(far.url, { endpoint: { options: { pollIntervalMs: 1 } } });
    const waiting = await runtime.run({ agent: "far", thread: "t", input: "that" });
    expect(waiting).toMatchObject({ status: "waiting", waitingReason: "input-required", tickets: [], text: "which one?" });
    const kept = async () => (await store.threads.loadHead(T))?.state?.extensions["__runtime.remote_backend"];
    const [first] = far.turns;
    const target = `a2a:${far.url}`;
    expect(await kept()).toMatchObject({
      ...{ type: "a2a", version: 1 },
      targets: { [target]: { taskId: first?.taskId, contextId: "t", lastState: "TASK_STATE_INPUT_REQUIRED", runId: waiting.runId } },
    });
    expect(await runtime.run({ thread: "t", input: "the red one" })).toMatchObject({
      status: "done",
      text: "got the red one",
      runId: waiting.runId,
    });
    expect(far.turns[1]?.taskId).toBe(first?.taskId);
    expect(await runtime.run({ thread: "t", input: "and now?" })).toMatchObject({ status: "done", text: "got and now?" });
    expect(far.turns[2]?.taskId).not.toBe(first?.taskId);
    expect(far.turns.map(({ message }) => message.contextId)).toEqual(["t", "t", "t"]);
    expect(await kept()).toMatchObject({ targets: { [target]: { taskId: far.turns[2]?.taskId, lastState: "TASK_STATE_COMPLETED" } } });
  });

  test("multi-agent 24: an agent that wants a sign-in waits for it", async () => {
    const far = await harness.agent({
      act(turn) {
        const isAnswer = turn.task !== undefined;
        turn.accept();
        turn.status(isAnswer ? "TASK_STATE_COMPLETED" : "TASK_STATE_AUTH_REQUIRED", isAnswer ? "welcome" : "sign in at https://x.example");
      },
    });
    const { runtime } = harness.open(far.url, { endpoint: { options: { pollIntervalMs: 1 } } });
    const waiting = await runtime.run({ agent: "far", thread: "t", input: "x" });
    expect(waiting).toMatchObject({ status: "waiting", waitingReason: "auth-required", text: "sign in at https://x.example" });
    expect(await runtime.run({ thread: "t", input: "done" })).toMatchObject({ status: "done", text: "welcome", runId: waiting.runId });
    expect(far.turns[1]?.taskId).toBe(far.turns[0]?.taskId);
  });

  test.each([
    ["TASK_STATE_FAILED", "no paper", { status: "failed", error: { code: "remote_failed", message: "no paper" } }],
    ["TASK_STATE_FAILED", undefined, { status: "failed", error: { message: "remote agent run failed" } }],
    ["TASK_STATE_REJECTED", undefined, { status: "failed", error: { message: "remote agent rejected the task" } }],
    ["TASK_STATE_CANCELED", undefined, { status: "cancelled" }],
  ] as const)("a task that ends as %s (%s) is how the run ended", async (state, said, result) => {
    const far = await harness.agent({
      act(turn) {
        turn.accept();
        turn.status(state, said);
      },
    });
    const { runtime } = harness.open(far.url, { endpoint: { options: { returnImmediately: false } } });
    expect(await runtime.run({ agent: "far", input: "x" })).toMatchObject(result);
    expect(asked(far)).toEqual([SUBMIT]);
  });

  test("what people sent is sent: text, pictures and documents, by their bytes or addresses", async () => {
    const far = await harness.agent({ act: (turn) => turn.say([textPart("ok")]) });
    const { runtime } = harness.open(far.url, { endpoint: { target: "desk 1" } });
    const png = { type: "base64", mediaType: "image/png", data: "AAEC" } as const;
    const content = [
      { type: "text", text: "look" },
      { type: "image", source: png },
      { type: "document", source: { type: "url", url: "https://x.example/a/law.PDF?v=1" }, title: "law" },
    ] as const;
    await runtime.run({ agent: "far", input: [{ role: "user", content }] });
    expect(asked(far)).toEqual(["POST /desk%201/message:send"]);
    expect(far.turns[0]?.message.parts).toMatchObject([
      { content: { $case: "text", value: "look" } },
      { content: { $case: "raw", value: new Uint8Array([0, 1, 2]) }, mediaType: "image/png" },
      { content: { $case: "url", value: "https://x.example/a/law.PDF?v=1" }, mediaType: "application/pdf", filename: "law" },
    ]);
  });

  test("multi-agent 27: a message that somebody else commits meanwhile stands between the input and the answer", async () => {
    const gate = Promise.withResolvers<void>();
    const far = await harness.agent({
      async act(turn) {
        turn.accept();
        turn.status("TASK_STATE_WORKING");
        await gate.promise;
        turn.status("TASK_STATE_COMPLETED", "the answer");
      },
    });
    const memory = memoryStore();
    let last: Parameters<typeof memory.commit>[0] | undefined;
    const store: typeof memory = {
      ...memory,
      commit: (change) => {
        last = change;
        return memory.commit(change);
      },
    };
    const { runtime } = harness.open(far.url, { init: { store } });
    const run = runtime.stream({ agent: "far", thread: "t", input: "the input" });
    await until(() => far.seen.length === 2);
    if (last?.fence === undefined) throw new Error("a run that works has its thread");
    const { fence, runId } = last;
    const foreign = { id: messageId("foreign"), role: "user", content: [{ type: "text", text: "by the way" }] } as const;
    await memory.commit({ threadId: T, runId, fence, messageDelta: { messages: [foreign], expectedMessageCount: 1 } });
    gate.resolve();
    expect(await run.result).toMatchObject({ status: "done", text: "the answer" });
    const { items } = await memory.messages.list(T, {});
    expect(items.map(({ message }) => messageText(message))).toEqual(["the input", "by the way", "the answer"]);
  });

  test("a message that comes while it works is the next one that it is sent, alone and in the same context", async () => {
    const gate = Promise.withResolvers<void>();
    const far = await harness.agent({
      async act(turn) {
        turn.accept();
        turn.status("TASK_STATE_WORKING");
        await gate.promise;
        turn.status("TASK_STATE_COMPLETED", `on ${turn.text}`);
      },
    });
    const { runtime } = harness.open(far.url, { endpoint: { options: { pollIntervalMs: 1 } } });
    const run = runtime.stream({ agent: "far", thread: "t", input: "contracts" });
    await until(() => far.seen.length === 2);
    await runtime.send("t", "and taxes", { mode: "steer" });
    gate.resolve();
    await run.result;
    expect(far.turns.map((turn) => turn.text)).toEqual(["contracts", "and taxes"]);
    expect(far.turns.map(({ message }) => message.contextId)).toEqual(["t", "t"]);
  });

  test("a run that is cancelled while its agent waits for an answer cancels the task there", async () => {
    const far = await harness.agent({
      act(turn) {
        turn.accept();
        turn.status("TASK_STATE_INPUT_REQUIRED", "which one?");
      },
    });
    const { runtime, logged } = harness.open(far.url, { endpoint: { options: { pollIntervalMs: 1 } } });
    const { runId: id } = await runtime.run({ agent: "far", thread: "t", input: "that" });
    const before = asked(far).length;
    expect(await runtime.cancelAndWait(id)).toBe(true);
    expect(await runtime.wait(id)).toMatchObject({ status: "cancelled" });
    expect(asked(far).slice(before)).toEqual([CANCEL]);
    expect(logged).toEqual([]);
    await until(() => far.sockets.size === 0);
  });

  test("multi-agent 25: what was kept and cannot be read fails the turn and names the key; what another backend kept is no matter", async () => {
    const far = await harness.agent({ act: (turn) => turn.say([textPart("ok")]) });
    const target = `a2a:${far.url}`;
    const keeps = (state: JsonObject): BackendFactory => ({
      type: "keeper",
      build: () => ({
        profile: STATELESS_REMOTE_PROFILE,
        async run(request) {
          if (request.role === "root") await request.remote.keep(state);
          return {
            agentId: "keeper",
            status: { type: "completed" },
            termination: { type: "natural-end" },
            output: { artifacts: [] },
            steps: 1,
          };
        },
      }),
    });
    const after = async (state: JsonObject) => {
      const agents = { keeper: { remote: { type: "keeper", baseUrl: "https://x.example" } }, far: { remote: { a2a: far.url } } };
      const { runtime } = harness.open(far.url, { init: { agents, backends: [keeps(state), a2a({ allow: ["loopback"] })] } });
      await runtime.run({ agent: "keeper", thread: "t", input: "x" });
      return runtime.run({ agent: "far", thread: "t", input: "y" });
    };
    const good = { contextId: "c", lastState: "TASK_STATE_COMPLETED", statusMark: "", runId: "r" };
    for (const broken of [
      { type: "a2a", version: 2, targets: {} },
      { version: 1, targets: {} },
      { type: "a2a", version: 1, targets: [] },
      { type: "a2a", version: 1, targets: { [target]: { ...good, taskId: 7 } } },
      { type: "a2a", version: 1, targets: { [target]: { ...good, contextId: "" } } },
      { type: "a2a", version: 1, targets: { [target]: "gone" } },
    ]) {
      expect(await after(broken)).toMatchObject({
        status: "failed",
        error: {
          code: "storage_corrupt",
          message: expect.stringMatching(/^corrupt A2A persisted remote state at __runtime\.remote_backend: /),
        },
      });
    }
    expect(far.seen).toEqual([]);
    expect(await after({ type: "keeper", anything: 1 })).toMatchObject({ status: "done", text: "ok" });
    expect(await after({ type: "a2a", version: 1, targets: { [target]: good } })).toMatchObject({ status: "done" });
    expect(far.turns.map(({ message }) => message.contextId)).toEqual(["t", "c"]);
  });

  test("a run that is cancelled cancels its task before it ends, also while its message is on its way, and nothing is left", async () => {
    const clock = fakeClock();
    const gate = Promise.withResolvers<void>();
    let isSlow = false;
    const far = await harness.agent({
      async act(turn) {
        if (isSlow) await gate.promise;
        turn.accept();
        turn.status("TASK_STATE_WORKING");
        await until(() => far.cancelled.includes(turn.taskId));
      },
    });
    const { runtime, logged } = harness.open(far.url, { options: { clock } });
    const run = runtime.stream({ agent: "far", input: "x" });
    await until(() => far.seen.length === 2);
    await runtime.cancel(run.id);
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(far.cancelled).toEqual([far.turns[0]?.taskId]);
    expect(asked(far)).toEqual([SUBMIT, SUBSCRIBE, CANCEL]);

    isSlow = true;
    const slow = runtime.stream({ agent: "far", input: "x" });
    await until(() => far.turns.length === 2);
    await runtime.cancel(slow.id);
    gate.resolve();
    expect(await slow.result).toMatchObject({ status: "cancelled" });
    expect(far.cancelled).toEqual(far.turns.map(({ taskId }) => taskId));
    expect(clock.pendingTimers).toBe(0);
    expect(logged).toEqual([]);
    await until(() => far.sockets.size === 0);
  });
});

describe("an A2A agent as a delegate", () => {
  const asks = toolCall("agent_run_far", { prompt: "may I?" }, { id: "c1" });

  test("it is asked with the prompt alone, answers, and has its files in the result that tool code gets", async () => {
    const far = await harness.agent({
      act(turn) {
        turn.accept();
        turn.artifact("scan", [filePart("%PDF", "application/pdf", "law.pdf")]);
        turn.status("TASK_STATE_COMPLETED", "yes");
      },
    });
    const results: unknown[] = [];
    const look = defineTool({
      id: "look",
      description: "",
      input: z.object({}),
      execute: async (_, ctx) => {
        const result = await ctx.runAgent({ agent: "far", input: "look" });
        results.push(result);
        return result.text;
      },
    });
    const { runtime, model } = harness.open(far.url, { init: { tools: [look] }, turns: [asks, toolCall("look", {}), text("done")] });
    const run = runtime.stream({ agent: "lead", thread: "t", input: "x" });
    checkEvents(await collect(run));
    expect(await run.result).toMatchObject({ status: "done", text: "done" });
    expect(far.turns.map((turn) => turn.text)).toEqual(["may I?", "look"]);
    expect(far.turns.map(({ message }) => message.contextId)).not.toContain("t");
    expect(results).toMatchObject([
      { status: "done", text: "yes", output: { artifacts: [{ id: "scan", content: [{ raw: "JVBERg==" }] }] } },
    ]);
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain("yes");
    await until(() => far.sockets.size === 0);
  });

  test("how far it is reaches those who listen to its caller", async () => {
    const far = await harness.agent({
      act(turn) {
        turn.accept();
        turn.status("TASK_STATE_WORKING", "reading");
        turn.artifact("a", [textPart("granted")]);
        turn.status("TASK_STATE_COMPLETED");
      },
    });
    const { runtime } = harness.open(far.url, { turns: [asks, text("ok")] });
    const events = await collect(runtime.stream({ agent: "lead", input: "x" }));
    const told = events.flatMap((event) => (event.type === "activity-snapshot" && event.activityType === "a2a-task-progress" ? event : []));
    expect(told.every(({ messageId }) => messageId === far.turns[0]?.taskId)).toBe(true);
    expect(told.at(-1)?.content).toMatchObject({ state: "TASK_STATE_COMPLETED", text: "granted" });
    const order = events.flatMap((event) => (event.type === "child-start" || told.some((each) => each === event) ? event.type : []));
    expect(order[0]).toBe("child-start");
  });

  test("multi-agent 16: one that asks back leaves the call waiting with its question", async () => {
    const far = await harness.agent({
      act(turn) {
        turn.accept();
        turn.status("TASK_STATE_INPUT_REQUIRED");
      },
    });
    const { runtime } = harness.open(far.url, { turns: [asks, text("done")] });
    const waiting = await runtime.run({ agent: "lead", input: "x" });
    expect(waiting).toMatchObject({
      status: "waiting",
      tickets: [{ action: "agent-delegate:input-required", message: "remote agent requires additional input" }],
    });
    const [ticket] = waiting.status === "waiting" ? waiting.tickets : [];
    const decided = await runtime.decide(ticket?.id ?? "", { action: "answer", result: "the red one" });
    expect(await decided.result).toMatchObject({ status: "done", text: "done" });
  });

  test.each([
    ["follows its stream", true],
    ["polls", false],
  ])("multi-agent 19: a parent that is cancelled while it %s cancels the task, and nothing is left", async (_, streaming) => {
    const far = await harness.agent({
      async act(turn) {
        turn.accept();
        turn.status("TASK_STATE_WORKING");
        await until(() => far.cancelled.length > 0);
      },
    });
    const clock = fakeClock();
    const { runtime } = harness.open(far.url, { endpoint: { options: { streaming } }, options: { clock }, turns: [asks] });
    const run = runtime.stream({ agent: "lead", input: "x" });
    await until(() => far.seen.length === 2);
    await runtime.cancel(run.id);
    expect(await run.result).toMatchObject({ status: "cancelled" });
    expect(far.cancelled).toEqual([far.turns[0]?.taskId]);
    expect(asked(far)).toEqual([SUBMIT, streaming ? SUBSCRIBE : POLL, CANCEL]);
    expect(clock.pendingTimers).toBe(0);
    await until(() => far.sockets.size === 0);
  });
});
