import { type AgentEvent, messageId, runId, toolCallId } from "@awaken/contract";
import { readUIMessageStream, safeValidateUIMessages, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from "ai";
import { uiMessageChunkSchema as chunkSchema6 } from "ai-6";
import { describe, expect, test } from "vitest";
import { goldenLog, goldenLogs } from "../golden.test-support.ts";
import { type Chunk, DIALECTS, type Dialect } from "./chunk.ts";
import { AiSdkEncoder } from "./encoder.ts";
import { frameOf } from "./frames.ts";

type RunEvent<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

const FRONTEND = ["pick_color"];
const encoderOf = (dialect: Dialect = 7) => new AiSdkEncoder({ dialect, frontendTools: FRONTEND });
const encodeAll = (events: readonly AgentEvent[], encoder = encoderOf()): Chunk[] => events.flatMap((event) => [...encoder.encode(event)]);

/** The chunks of each activation as the client gets them: it has what came before. */
function streamsOf(activations: readonly (readonly AgentEvent[])[], dialect: Dialect = 7): Chunk[][] {
  const encoder = encoderOf(dialect);
  return activations.map((events, index) => {
    if (index > 0) encoder.rejoin();
    return encodeAll(events, encoder);
  });
}

const isClientChunk = (chunk: unknown): chunk is UIMessageChunk => typeof chunk === "object" && chunk !== null && "type" in chunk;

async function fold(chunks: readonly Chunk[], message?: UIMessage): Promise<UIMessage | undefined> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      for (const chunk of chunks) if (isClientChunk(chunk)) controller.enqueue(structuredClone(chunk));
      controller.close();
    },
  });
  let last: UIMessage | undefined = message;
  // A failed run says so in its stream, and the message is what came before.
  for await (const next of readUIMessageStream({ stream, onError: () => {}, ...(message === undefined ? {} : { message }) })) last = next;
  return last === undefined ? undefined : JSON.parse(JSON.stringify(last));
}

async function foldAll(activations: readonly (readonly AgentEvent[])[]): Promise<UIMessage | undefined> {
  let message: UIMessage | undefined;
  for (const chunks of streamsOf(activations)) message = await fold(chunks, message);
  return message;
}

async function schemaIssue(dialect: Dialect, chunk: Chunk): Promise<unknown> {
  const { validate } = dialect === 7 ? uiMessageChunkSchema() : chunkSchema6();
  if (validate === undefined) throw new Error("the SDK has no schema for its chunks");
  const checked = await validate(JSON.parse(JSON.stringify(chunk)));
  return checked.success ? undefined : { chunk, error: checked.error.message };
}

const start = (more: Partial<RunEvent<"run-start">> = {}): AgentEvent[] => {
  const [first] = goldenLog("text").activations[0] ?? [];
  if (first?.type !== "run-start") throw new Error("the log begins with a run");
  return [{ ...first, ...more }];
};
const step = (n: number, id: string): AgentEvent => {
  const found = goldenLog("text").activations[0]?.find((event) => event.type === "step-start");
  if (found?.type !== "step-start") throw new Error("the log has a step");
  return { ...found, step: n, messageId: messageId(id) };
};
const end = (name: string): AgentEvent => {
  const found = goldenLog(name).activations.at(-1)?.at(-1);
  if (found === undefined) throw new Error("the log has an end");
  return found;
};
const text = (delta: string): AgentEvent => ({ type: "text-delta", delta });
const think = (delta: string): AgentEvent => ({ type: "reasoning-delta", delta });
const typesOf = (chunks: readonly Chunk[]): string[] => chunks.map(({ type }) => type);

const fromJson = (value: unknown): AgentEvent[] => JSON.parse(JSON.stringify(value));
const call = (id: string, more: object = {}): AgentEvent[] =>
  fromJson([
    { type: "tool-call-start", toolCallId: id, toolName: "refund" },
    { type: "tool-call-delta", toolCallId: id, delta: "{}" },
    { type: "tool-call-ready", toolCallId: id, toolName: "refund", input: {}, runsAt: "server", dynamic: false, ...more },
  ]);
const ended = (id: string, result: unknown, outcome = "succeeded"): AgentEvent[] =>
  fromJson([{ type: "tool-call-end", toolCallId: id, toolName: "refund", messageId: "r", outcome, result }]);

describe.each(DIALECTS)("dialect %s", (dialect) => {
  test.each(goldenLogs)("protocols 9, 61: every chunk of $name passes the schema of that SDK", async ({ activations }) => {
    for (const chunk of streamsOf(activations, dialect).flat()) expect(await schemaIssue(dialect, chunk)).toBeUndefined();
  });

  test.each(goldenLogs)("protocols 1: $name gives the same bytes twice", ({ activations }) => {
    const bytes = () =>
      streamsOf(activations, dialect)
        .flat()
        .map((chunk) => frameOf(chunk))
        .join("");
    expect(bytes()).toBe(bytes());
  });
});

test.each(goldenLogs)(
  "protocols 9: $name folds into messages of an answer each, that pass the SDK's validator",
  async ({ activations, messages }) => {
    const message = await foldAll(activations);
    if (message === undefined) throw new Error("there is no message");
    const runId = messages.findLast(({ role }) => role === "assistant")?.metadata?.runId;
    const firstAnswer = messages.find(({ role, metadata }) => role === "assistant" && metadata?.runId === runId);
    if (firstAnswer !== undefined) expect(message.id).toBe(firstAnswer.id);
    if (message.parts.length === 0) return;
    const checked = await safeValidateUIMessages({ messages: [message] });
    expect(checked).toMatchObject({ success: true });
  },
);

test("protocols 7: the first turn in its order", () => {
  const [chunks = []] = streamsOf(goldenLog("text").activations);
  const types = typesOf(chunks).filter((type) => type !== "data-inference-end");
  expect(types.filter((type, index) => type !== types[index - 1])).toEqual([
    "start",
    "data-run-info",
    "start-step",
    "text-start",
    "text-delta",
    "text-end",
    "finish-step",
    "finish",
  ]);
  expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
});

test("protocols 8: text, a call and text in one step are two texts", () => {
  const chunks = encodeAll([...start(), step(1, "m1"), text("a"), ...call("c1"), text("b"), end("text")]);
  expect(chunks.filter(({ type }) => type === "text-start")).toEqual([
    { type: "text-start", id: "txt_0" },
    { type: "text-start", id: "txt_1" },
  ]);
});

test("protocols 2: nothing follows an end, until the run goes on", () => {
  const encoder = encoderOf();
  encodeAll([...start(), step(1, "m1"), text("a"), end("text")], encoder);
  expect(encodeAll([text("late"), step(2, "m2")], encoder)).toEqual([]);
  expect(typesOf(encodeAll([...start({ resumed: true }), step(2, "m2"), text("on")], encoder))).toEqual([
    "start-step",
    "text-start",
    "text-delta",
  ]);
});

test("protocols 15: the output is the data, with metadata when there is some, and null for nothing", () => {
  const outputs = (result: unknown) =>
    encodeAll([...start(), step(1, "m1"), ...call("c1"), ...ended("c1", result)]).flatMap((chunk) =>
      chunk.type === "tool-output-available" ? [chunk.output] : [],
    );
  expect(outputs({ type: "success", data: { paid: 1 } })).toEqual([{ paid: 1 }]);
  expect(outputs({ type: "success", data: 1, metadata: { took: 2 } })).toEqual([{ data: 1, metadata: { took: 2 } }]);
  expect(outputs({ type: "success", data: 1, metadata: {} })).toEqual([1]);
  expect(outputs({ type: "success" })).toEqual([null]);
});

test("protocols 16: streamed output is preliminary, grows, and gives way to the last one", async () => {
  const streamed = fromJson(["on", "e"].map((delta) => ({ type: "tool-call-stream-delta", toolCallId: "c1", toolName: "refund", delta })));
  const events = [...start(), step(1, "m1"), ...call("c1"), ...streamed, ...ended("c1", { type: "success", data: "done" }), end("text")];
  const outputs = encodeAll(events).filter(({ type }) => type === "tool-output-available");
  expect(outputs).toMatchObject([{ output: "on", preliminary: true }, { output: "one", preliminary: true }, { output: "done" }]);
  const message = await fold(encodeAll(events));
  expect(message?.parts).toContainEqual(expect.objectContaining({ state: "output-available", output: "done" }));
});

test("protocols 19: a run that waits ends one step and says that calls are to be answered", () => {
  const [chunks = []] = streamsOf(goldenLog("parallel-approvals").activations);
  expect(typesOf(chunks).filter((type) => type === "finish-step")).toHaveLength(1);
  expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
  expect(chunks.filter(({ type }) => type === "tool-approval-request")).toMatchObject([
    { approvalId: "id-4", toolCallId: "c1", reason: "Refund 120?", approvalDescriptor: { action: "approve" } },
    { approvalId: "id-6", toolCallId: "c2" },
  ]);
});

test("protocols 13: a denied call is denied, with its reason", async () => {
  const [, chunks = []] = streamsOf(goldenLog("denied").activations);
  expect(chunks).toContainEqual({ type: "tool-approval-response", approvalId: "id-4", approved: false, reason: "too much" });
  expect(chunks).toContainEqual({ type: "tool-output-denied", toolCallId: "c1" });
  const message = await foldAll(goldenLog("denied").activations);
  expect(message?.parts).toContainEqual(
    expect.objectContaining({ state: "output-denied", approval: expect.objectContaining({ approved: false }) }),
  );
});

test.each(["parallel-approvals", "frontend-tool", "denied"])(
  "protocols 62: %s: whoever continues has one message, by its first id",
  async (name) => {
    const { activations, messages } = goldenLog(name);
    const id = messages.find(({ role }) => role === "assistant")?.id;
    for (const chunks of streamsOf(activations)) expect(chunks[0]).toMatchObject({ type: "start", messageId: id });
    const message = await foldAll(activations);
    expect(message?.id).toBe(id);
    const ids = streamsOf(activations)
      .flat()
      .flatMap((chunk) => (chunk.type === "text-start" ? [chunk.id] : []));
    expect(new Set(ids).size).toBe(ids.length);
  },
);

test.each([
  ["a call", [think("hm"), text("old"), ...call("c1").slice(0, 2)]],
  ["text", [think("hm"), text("old")]],
  ["thought", [think("hm")]],
])("protocols 64: after a reset in %s only the new text is shown, and no end names an old part", async (_, taken) => {
  const reset: AgentEvent = { type: "stream-reset", reason: "another process has taken the run over" };
  const events = [...start(), step(1, "m1"), ...taken, reset, text("new"), end("text")];
  const chunks = encodeAll(events);
  const at = chunks.findIndex(({ type }) => type === "reset-step");
  const opened = new Set<string>();
  for (const chunk of chunks.slice(at)) {
    if (chunk.type === "text-start") opened.add(chunk.id);
    if (chunk.type === "text-end" || chunk.type === "reasoning-end") expect(opened).toContain(chunk.id);
  }
  const message = await fold(chunks);
  expect(message?.parts.filter(({ type }) => type !== "step-start")).toMatchObject([{ type: "text", text: "new", state: "done" }]);
  const six = encodeAll(events, encoderOf(6));
  expect(six).toContainEqual({ type: "data-stream-reset", data: { reason: reset.reason }, transient: true });
  for (const chunk of six) expect(await schemaIssue(6, chunk)).toBeUndefined();
});

test("protocols 69: ten states and ten inferences are one part of each kind that stays", async () => {
  const [snapshot] = fromJson([{ type: "state-snapshot", snapshot: { schemaVersion: 1, revision: 1, extensions: { notes: ["a"] } } }]);
  const inference = goldenLog("text").activations[0]?.find(({ type }) => type === "inference-end");
  if (snapshot === undefined || inference === undefined) throw new Error("the log has an inference");
  const steps = Array.from({ length: 10 }, (_, n) => [step(n + 1, `m${n}`), text("x"), inference, snapshot]).flat();
  const message = await fold(encodeAll([...start(), ...steps, end("text")]));
  const data = message?.parts.filter(({ type }) => type.startsWith("data-"));
  expect(data).toEqual([{ type: "data-state-snapshot", id: "state", data: { notes: ["a"] } }]);
});

test("who runs a call is said on each of its chunks, and nothing of the page's own tools", () => {
  const flags = (name: string) =>
    streamsOf(goldenLog(name).activations)
      .flat()
      .flatMap((chunk) => (chunk.type.startsWith("tool-input") || chunk.type.startsWith("tool-output") ? [chunk] : []))
      .filter(({ type }) => type !== "tool-input-delta" && type !== "tool-output-denied");
  for (const chunk of flags("tools")) expect(chunk).toMatchObject({ providerExecuted: true });
  for (const chunk of flags("frontend-tool")) expect(chunk).not.toHaveProperty("providerExecuted");
  expect(flags("tools").length).toBeGreaterThan(2);
  expect(flags("frontend-tool").length).toBeGreaterThan(2);
});

test("text and thought never overlap, and what is open is closed before every end", () => {
  for (const last of ["cancelled", "failed", "text"]) {
    const chunks = encodeAll([...start(), step(1, "m1"), think("a"), text("b"), think("c"), ...call("c1"), text("d"), end(last)]);
    const open = new Set<string>();
    for (const chunk of chunks) {
      if (chunk.type === "text-start" || chunk.type === "reasoning-start") {
        expect([...open]).toEqual([]);
        open.add(chunk.id);
      }
      if (chunk.type === "text-end" || chunk.type === "reasoning-end") expect(open.delete(chunk.id)).toBe(true);
      if (["finish", "error", "abort"].includes(chunk.type)) expect([...open]).toEqual([]);
    }
    expect(chunks.filter(({ type }) => type === "tool-output-error")).toHaveLength(1);
  }
});

test("a cancelled run is an abort and an interruption; the older client hears of another reason", () => {
  const events = [...start(), step(1, "m1"), text("a"), end("cancelled")];
  expect(encodeAll(events).slice(-2)).toMatchObject([{ type: "abort" }, { type: "finish", finishReason: "interrupted" }]);
  expect(encodeAll(events, encoderOf(6)).slice(-1)).toMatchObject([{ finishReason: "other" }]);
});

test("what a run in the background of an earlier one asks inside of an answer is asked at no call of it, and cuts no text", async () => {
  const [begun] = start();
  if (begun?.type !== "run-start") throw new Error("the log begins with a run");
  const family = { rootRunId: runId("other"), agentPath: ["lead", "clerk"] };
  const ticket = { ...askedIn("denied"), runId: runId("child"), ...family };
  const child = { runId: runId("child-of-c1"), threadId: begun.threadId, agentId: "clerk", agentPath: ["lead", "clerk"] };
  const asked: AgentEvent = { type: "ticket-open", ticket };
  const own: AgentEvent = { type: "child-start", ...child, toolCallId: toolCallId("c1") };
  const events = (between: readonly AgentEvent[]) => [
    begun,
    step(1, "m1"),
    text("a"),
    ...between,
    text("b"),
    ...call("c1"),
    own,
    ...between,
  ];
  expect(encodeAll(events([asked]))).toEqual(encodeAll(events([])));
  const below: AgentEvent = { type: "ticket-open", ticket: { ...ticket, rootRunId: begun.runId } };
  expect(encodeAll([...events([]), below]).at(-1)).toMatchObject({
    type: "tool-approval-request",
    approvalId: ticket.id,
    toolCallId: "c1",
  });
});

/** The first ticket of a log. */
function askedIn(name: string): RunEvent<"ticket-open">["ticket"] {
  for (const event of goldenLog(name).activations.flat()) if (event.type === "ticket-open") return event.ticket;
  throw new Error("the log has a ticket");
}
