import { type AgentEvent, threadId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { activeAgent } from "../state/active-agent.ts";
import { defineState } from "../state/key.ts";
import { checkEvents } from "../testing/event-checker.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";
import { ask } from "../tool/verdict.ts";

const object = z.object({});
const look = defineTool({ id: "look", description: "", input: object, kind: "read", execute: () => "seen" });
const found = defineTool({ id: "found", description: "", input: object, dynamic: true, execute: () => "here" });
const pay = defineTool({
  id: "pay",
  description: "",
  input: z.object({ n: z.number() }),
  approve: () => ask("Pay?"),
  execute: ({ n }) => n,
});
const hand = defineTool({
  id: "hand",
  description: "",
  input: object,
  execute: () => reply("ok", { command: command().update(activeAgent, "second") }),
});

type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

const only = <T extends AgentEvent["type"]>(events: readonly AgentEvent[], type: T): readonly EventOf<T>[] =>
  events.filter((event): event is EventOf<T> => event.type === type);

async function heard(run: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of run) events.push(event);
  checkEvents(events);
  return events;
}

function open(model: ReturnType<typeof scripted>, init: Partial<RuntimeInit> = {}) {
  return createRuntime({
    providers: { house: model },
    models: { fast: { provider: "house", model: "fast-1", contextWindow: 9_000 }, wise: { provider: "house", model: "wise-1" } },
    agents: { first: { model: "fast" }, second: { model: "wise" } },
    tools: [look, found, pay, hand],
    ...init,
  });
}

describe("what listeners hear", () => {
  it("says of each call where it runs, what kind it is, whether it was found, and why it cannot run", async () => {
    const model = scripted([toolCalls(["look", "found", "nothing", "paint"].map((name) => ({ name, input: {} }))), text("done")]);
    const frontendTools = [{ id: "paint", description: "", parameters: { type: "object" } }];
    const events = await heard(open(model).stream({ agent: "first", thread: "t", input: "go", frontendTools }));
    expect(only(events, "tool-call-ready")).toMatchObject([
      { toolName: "look", runsAt: "server", dynamic: false, kind: "read" },
      { toolName: "found", runsAt: "server", dynamic: true },
      { toolName: "nothing", runsAt: "server", invalid: "there is no tool 'nothing'" },
      { toolName: "paint", runsAt: "client", dynamic: false },
    ]);
    const ran = only(events, "tool-call-run").map(({ toolCallId }) => toolCallId);
    const ready = only(events, "tool-call-ready").filter(({ invalid }) => invalid === undefined);
    expect(ran.toSorted()).toEqual(ready.map(({ toolCallId }) => toolCallId).toSorted());
  });

  it("is told of a decision after the start of the run that it resumes, and which ticket and message it is about", async () => {
    const store = memoryStore();
    const first = open(scripted([toolCall("pay", { n: 7 }), text("paid")]), { store });
    const begun = await heard(first.stream({ agent: "first", thread: "t", input: "pay" }));
    const [start] = only(begun, "run-start");
    expect(start).toMatchObject({ resumed: false });
    const [asked] = only(begun, "step-start");
    expect(start?.answerId).toBe(asked?.messageId);
    const [ticket] = only(begun, "ticket-open").map((event) => event.ticket);
    expect(only(begun, "run-end")).toMatchObject([
      { result: { status: "waiting", waitingReason: "suspended" }, tickets: [{ id: ticket?.id }] },
    ]);

    const second = open(scripted([text("paid")]), { store });
    const run = await second.decide(ticket?.id ?? "", { action: "approve", input: { n: 5 }, by: "ana" });
    const events = await heard(run);
    expect(events.slice(0, 2)).toMatchObject([
      { type: "run-start", resumed: true, answerId: start?.answerId },
      { type: "decision-taken", ticketId: ticket?.id, action: "approve", input: { n: 5 }, by: "ana", toolName: "pay" },
    ]);
    expect(only(events, "tool-call-resumed")).toMatchObject([{ ticketId: ticket?.id, messageId: asked?.messageId, outcome: "succeeded" }]);
    expect(only(events, "input-accepted")).toEqual([]);
    expect(only(events, "run-end")).toMatchObject([{ result: { status: "done", response: "paid" }, tickets: [] }]);
  });

  it("hears which agent acts, who was asked, how large its window is, and what each model cost, also before the run waited", async () => {
    const store = memoryStore();
    const turns = [toolCall("hand", {}), toolCall("pay", { n: 1 }), text("over")];
    const runtime = open(scripted(turns), { store });
    const begun = await heard(runtime.stream({ agent: "first", thread: "t", input: "go" }));
    expect(only(begun, "step-start").map(({ agentId }) => agentId)).toEqual(["first", "second"]);
    expect(only(begun, "inference-end")).toMatchObject([
      { provider: "house", model: "fast-1", contextWindow: 9_000, finishReason: "tool-use" },
      { provider: "house", model: "wise-1", finishReason: "tool-use" },
    ]);
    const [ticket] = only(begun, "run-end").flatMap(({ tickets }) => tickets);
    const events = await heard(await runtime.decide(ticket?.id ?? "", { action: "approve" }));
    const [end] = only(events, "run-end");
    expect(end?.usage).toMatchObject({ totalTokens: 45 });
    expect(end?.usageByModel).toMatchObject([
      { provider: "house", model: "fast-1", usage: { totalTokens: 15 } },
      { provider: "house", model: "wise-1", usage: { totalTokens: 30 } },
    ]);
  });

  it("is told what the model reads: what the run was started with, and what was sent meanwhile", async () => {
    const runtime = open(scripted([toolCall("late", {}), text("done")]), {
      tools: [
        defineTool({
          id: "late",
          description: "",
          input: object,
          execute: (_input, { identity }) => runtime.send(identity.threadId, "hurry"),
        }),
      ],
    });
    const events = await heard(runtime.stream({ agent: "first", thread: "t", input: "go" }));
    expect(only(events, "input-accepted").map(({ mode, messages }) => [mode, messages.map(({ content }) => content)])).toEqual([
      ["start", [[{ type: "text", text: "go" }]]],
      ["steer", [[{ type: "text", text: "hurry" }]]],
    ]);
  });

  it("sees of the state only the keys that are shared, also when the thread has them from another program", async () => {
    const key = (name: string, shared: boolean) =>
      defineState(name, { scope: "thread", shared, schema: z.number(), initial: () => 0, apply: (value, add: number) => value + add });
    const [open_, secret] = [key("open", true), key("secret", false)];
    const count = defineTool({
      id: "count",
      description: "",
      input: object,
      state: [open_, secret],
      execute: () => reply("counted", { command: command().update(open_, 1).update(secret, 2) }),
    });
    const store = memoryStore();
    const first = open(scripted([toolCall("count", {}), text("one")]), { store, tools: [count] });
    const events = await heard(first.stream({ agent: "first", thread: "t", input: "go" }));
    expect(only(events, "state-snapshot").at(-1)?.snapshot.extensions).toEqual({ open: 1 });
    const second = open(scripted([text("two")]), { store, tools: [] });
    const later = await heard(second.stream({ agent: "first", thread: "t", input: "more" }));
    expect(only(later, "state-snapshot").at(-1)?.snapshot.extensions).toEqual({});
    expect((await store.threads.loadHead(threadId("t")))?.state?.extensions).toMatchObject({ open: 1, secret: 2 });
  });

  it("has the same union in the last event as in the result", async () => {
    const runtime = open(scripted([text("half")]), { agents: { first: { model: "fast", maxSteps: 1 } } });
    const run = runtime.stream({ agent: "first", thread: "t", input: "go" });
    const [end] = only(await heard(run), "run-end");
    const result = await run.result;
    expect(result).toMatchObject({ status: "stopped", limit: "max-steps" });
    expect(end?.result).toMatchObject({ status: "stopped", limit: "max-steps", response: "half" });
  });
});
