import type { IncomingMessage, ServerResponse } from "node:http";
import { type AgentEvent, threadId } from "@awaken/contract";
import { fakeClock, text, toolCall } from "@awaken/runtime/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { type TestAgent, type Turn, textPart } from "./a2a.test-support.ts";
import { collect, Harness, until } from "./harness.test-support.ts";

const harness = new Harness();
afterEach(() => harness.close());

const asked = (far: TestAgent) => far.seen.map(({ method, path }) => `${method} ${path.replace(/[0-9a-f-]{36}/, "<task>")}`);
const SUBMIT = "POST /message:send";
const SUBSCRIBE = "POST /tasks/<task>:subscribe";
const POLL = "GET /tasks/<task>";
const CANCEL = "POST /tasks/<task>:cancel";

const isSubscribe = ({ url }: IncomingMessage): boolean => url?.endsWith(":subscribe") ?? false;
const isPoll = ({ method }: IncomingMessage): boolean => method === "GET";

function send(response: ServerResponse, status: number, body: string, type = "application/json"): true {
  response.writeHead(status, { "content-type": type }).end(body);
  return true;
}

const works = (turn: Turn): void => {
  turn.accept();
  turn.status("TASK_STATE_WORKING");
};

const worksForEver = (turn: Turn): Promise<void> => {
  works(turn);
  return new Promise(() => {});
};

describe("a server that cannot be followed", () => {
  test.each([404, 405, 501])("multi-agent 22: %i for the stream, then polling completes the task", async (status) => {
    const gate = Promise.withResolvers<void>();
    const far = await harness.agent({
      async act(turn) {
        works(turn);
        await gate.promise;
        turn.status("TASK_STATE_COMPLETED", "late, but here");
      },
      instead: (request, response) => isSubscribe(request) && send(response, status, '{"error":{"message":"not here"}}'),
    });
    const clock = fakeClock();
    const { runtime } = harness.open(far.url, { options: { clock } });
    const run = runtime.stream({ agent: "far", input: "x" });
    await until(() => far.seen.length === 3);
    gate.resolve();
    await until(() => clock.pendingTimers === 2);
    await clock.advance(2_000);
    expect(await run.result).toMatchObject({ status: "done", text: "late, but here" });
    expect(asked(far).slice(0, 4)).toEqual([SUBMIT, SUBSCRIBE, POLL, POLL]);
    expect(clock.pendingTimers).toBe(0);
    await until(() => far.sockets.size === 0);
  });

  test("multi-agent 22: a stream that breaks off is polled for, within the same deadline", async () => {
    const far = await harness.agent({
      act: worksForEver,
      instead(request, response) {
        if (!isSubscribe(request)) return false;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write('data: {"statusUpdate":{"taskId":"');
        setImmediate(() => response.destroy());
        return true;
      },
    });
    const clock = fakeClock();
    const { runtime } = harness.open(far.url, { endpoint: { timeoutMs: 5_000 }, options: { clock } });
    const run = runtime.stream({ agent: "far", input: "x" });
    for (const polls of [1, 2, 3]) {
      await until(() => asked(far).filter((path) => path === POLL).length === polls && clock.pendingTimers === 2);
      if (polls < 3) await clock.advance(2_000);
    }
    await clock.advance(1_000);
    expect(await run.result).toMatchObject({ status: "stopped", limit: "timeout" });
    expect(clock.now()).toBe(5_000);
    expect(asked(far)).toEqual([SUBMIT, SUBSCRIBE, POLL, POLL, POLL, CANCEL]);
    expect(clock.pendingTimers).toBe(0);
    await until(() => far.sockets.size === 0);
  });

  test("multi-agent 22: what may pass is waited out while polling, and what will not fails", async () => {
    let status = 503;
    const far = await harness.agent({
      act: worksForEver,
      instead: (request, response) => isPoll(request) && send(response, status, '{"error":{"message":"come back"}}'),
    });
    const clock = fakeClock();
    const { runtime } = harness.open(far.url, { endpoint: { options: { streaming: false } }, options: { clock } });
    const run = runtime.stream({ agent: "far", input: "x" });
    await until(() => far.seen.length === 2 && clock.pendingTimers === 2);
    status = 403;
    await clock.advance(2_000);
    expect(await run.result).toMatchObject({
      status: "failed",
      error: { code: "remote_failed", message: "remote error: task query rejected: come back" },
    });
    expect(clock.pendingTimers).toBe(0);
  });

  test("multi-agent 23: characters that lie across two chunks are whole", async () => {
    const far = await harness.agent({
      act: worksForEver,
      instead(request, response) {
        if (!isSubscribe(request)) return false;
        const [taskId] = far.turns.map((turn) => turn.taskId);
        const status = { state: "TASK_STATE_COMPLETED", message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "grüße 👋 字" }] } };
        const bytes = Buffer.from(`: hello\r\ndata: ${JSON.stringify({ statusUpdate: { taskId, contextId: "c", status } })}\r\n\r\n`);
        response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
        const next = (at: number): void => {
          if (at < bytes.length) response.write(bytes.subarray(at, at + 1), () => setImmediate(next, at + 1));
        };
        next(0);
        return true;
      },
    });
    const { runtime } = harness.open(far.url);
    expect(await runtime.run({ agent: "far", input: "x" })).toMatchObject({ status: "done", text: "grüße 👋 字" });
    await until(() => far.sockets.size === 0);
  });
});

describe("a server that hangs", () => {
  test.each([
    ["message", () => true, [SUBMIT]],
    ["stream", isSubscribe, [SUBMIT, SUBSCRIBE, CANCEL]],
    [
      "cancel",
      ({ url }: IncomingMessage) => isSubscribe({ url } as IncomingMessage) || url?.endsWith(":cancel"),
      [SUBMIT, SUBSCRIBE, CANCEL],
    ],
  ])("at the %s is given up at the deadline, and nothing is left", async (_, hangs, requests) => {
    const far = await harness.agent({
      async act(turn) {
        works(turn);
        await until(() => far.cancelled.length > 0);
      },
      instead: (request) => hangs(request) ?? false,
    });
    const clock = fakeClock();
    const { runtime } = harness.open(far.url, { endpoint: { timeoutMs: 1_000 }, options: { clock } });
    const run = runtime.stream({ agent: "far", input: "x" });
    await until(() => far.seen.length === (requests.length === 1 ? 1 : 2));
    await clock.advance(1_000);
    await until(() => far.seen.length === requests.length);
    if (clock.pendingTimers > 0) await clock.advance(2_000);
    expect(await run.result).toMatchObject({ status: "stopped", limit: "timeout" });
    expect(asked(far)).toEqual(requests);
    expect(clock.pendingTimers).toBe(0);
    await until(() => far.sockets.size === 0);
  });
});

describe("a server that answers nonsense", () => {
  const CASES: readonly [string, (far: () => TestAgent, request: IncomingMessage, response: ServerResponse) => boolean, string][] = [
    ["a message with no JSON", (_, __, response) => send(response, 200, "{oops"), "failed to decode A2A submission: "],
    ["a message with null", (_, __, response) => send(response, 200, "null"), "failed to decode A2A submission: "],
    ["a message with neither task nor message", (_, __, response) => send(response, 200, "{}"), "failed to decode A2A submission: "],
    [
      "a task without an id",
      (_, __, response) => send(response, 200, '{"task":{}}'),
      "failed to decode A2A submission: the task has no id",
    ],
    ["a refusal that is a page", (_, __, response) => send(response, 400, "<html>", "text/html"), "A2A submission rejected: HTTP error"],
    ["nothing", (_, __, response) => response.destroy() instanceof Object, "failed to submit A2A task: "],
    ["another place", (_, __, response) => redirect(response), "answers with a redirect, which is not followed"],
    ["a stream with no JSON", (_, request, response) => isSubscribe(request) && events(response, "{oops"), "an event that cannot be read"],
    ["a stream of null", (_, request, response) => isSubscribe(request) && events(response, "null"), "an event that cannot be read"],
    [
      "a stream with parts that are none",
      (_, request, response) => isSubscribe(request) && events(response, '{"task":{"id":"x","artifacts":[{"parts":[null]}]}}'),
      "an event that cannot be read",
    ],
    ["a look with no JSON", (_, request, response) => noStream(request, response, "{oops"), "failed to decode task status: "],
    [
      "a look at another task",
      (_, request, response) => noStream(request, response, '{"id":"other"}'),
      "the agent answered with task 'other'",
    ],
  ];

  function redirect(response: ServerResponse): true {
    response.writeHead(307, { location: "http://169.254.169.254/latest" }).end();
    return true;
  }

  function events(response: ServerResponse, data: string): true {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${data}\n\n`);
    return true;
  }

  const noStream = (request: IncomingMessage, response: ServerResponse, body: string): boolean =>
    isSubscribe(request) ? send(response, 404, "{}") : isPoll(request) && send(response, 200, body);

  test.each(CASES)("%s fails the run with a code, and prints nothing", async (_, answer, message) => {
    const printed = ["error", "warn", "log"].map((name) => vi.spyOn(console, name as "error").mockImplementation(() => {}));
    const far: TestAgent = await harness.agent({
      act: worksForEver,
      instead: (request, response) => answer(() => far, request, response),
    });
    const { runtime } = harness.open(far.url);
    expect(await runtime.run({ agent: "far", input: "x" })).toMatchObject({
      status: "failed",
      error: { code: "remote_failed", message: expect.stringContaining(message) },
    });
    for (const spy of printed) expect(spy).not.toHaveBeenCalled();
    await until(() => far.sockets.size === 0);
  });

  test("an answer that does not end, or is too long, is given up when it is longer than it may be", async () => {
    let isStream = false;
    const far = await harness.agent({
      act: worksForEver,
      instead(request, response) {
        if (isStream && !isSubscribe(request)) return false;
        response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
        const more = () =>
          response.write(isStream ? `: ${"x".repeat(1_000)}\n` : " ".repeat(1_000), (error) => error ?? setImmediate(more));
        more();
        return true;
      },
    });
    const { runtime } = harness.open(far.url, { options: { maxBytes: 20_000 } });
    const tooLong = { status: "failed", error: { code: "remote_failed", message: "remote error: the agent sent more than 20000 bytes" } };
    expect(await runtime.run({ agent: "far", input: "x" })).toMatchObject(tooLong);
    isStream = true;
    expect(await runtime.run({ agent: "far", input: "x" })).toMatchObject(tooLong);
    await until(() => far.sockets.size === 0);
  });
});

describe("the token of an agent", () => {
  const TOKEN = "tok-3f9a77c1";
  const auth = { type: "bearer", token: TOKEN } as const;

  const everything = async (events: readonly AgentEvent[], { runtime, store, logged, model }: ReturnType<Harness["open"]>) =>
    JSON.stringify([
      ...[events, logged, model.requests, runtime.registry.version],
      ...[(await store.runs.list({})).items, (await store.messages.list(threadId("t"), {})).items],
    ]);

  test("is sent with every request, and is in no event, error, record or log, whatever the server repeats of it", async () => {
    const echo = `you are Bearer ${TOKEN}`;
    const far = await harness.agent({
      act(turn) {
        turn.accept();
        turn.status("TASK_STATE_WORKING", echo);
        turn.artifact(TOKEN, [textPart(echo), { ...textPart(""), content: { $case: "data", value: { [TOKEN]: [echo] } } }]);
        turn.status(
          turn.text === "fail" ? "TASK_STATE_FAILED" : turn.text === "ask" ? "TASK_STATE_INPUT_REQUIRED" : "TASK_STATE_COMPLETED",
          echo,
        );
      },
    });
    const opened = harness.open(far.url, {
      endpoint: { auth, options: { pollIntervalMs: 1 } },
      turns: [toolCall("agent_run_far", { prompt: "fail" }), text("done")],
    });
    const told: AgentEvent[] = [];
    for (const input of ["fail", "answer", "ask"])
      told.push(...(await collect(opened.runtime.stream({ agent: "far", thread: "t", input }))));
    told.push(...(await collect(opened.runtime.stream({ agent: "lead", input: "x" }))));
    const all = await everything(told, opened);
    expect(all).toContain("you are Bearer ***");
    expect(all).not.toContain(TOKEN);
    expect(far.seen.every(({ authorization }) => authorization === `Bearer ${TOKEN}`)).toBe(true);
  });

  test("is in no error either", async () => {
    const printed = vi.spyOn(console, "error").mockImplementation(() => {});
    const body = JSON.stringify({ error: { message: `no such key: ${TOKEN}` } });
    const refusals = [
      (request: IncomingMessage, response: ServerResponse) => request.url === "/message:send" && send(response, 401, body),
      (_: IncomingMessage, response: ServerResponse) => send(response, 200, `${TOKEN} oops`),
      (request: IncomingMessage, response: ServerResponse) =>
        isSubscribe(request) && send(response, 200, `data: ${TOKEN}\n\n`, "text/event-stream"),
    ];
    for (const instead of refusals) {
      const far = await harness.agent({ act: worksForEver, instead });
      const opened = harness.open(far.url, { endpoint: { auth } });
      const run = opened.runtime.stream({ agent: "far", thread: "t", input: "x" });
      const all = await everything(await collect(run), opened);
      expect(await run.result).toMatchObject({ status: "failed", error: { code: "remote_failed" } });
      expect(all).not.toContain(TOKEN);
    }
    expect(printed).not.toHaveBeenCalled();
  });
});
