import { type AgentEvent, messageText, threadId } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { soleNode } from "../testing/fake-clock.ts";
import { parts, SCRIPTED_USAGE, type ScriptedTurn, type ScriptItem, stall, text } from "../testing/script.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";

const say = (delta: string): ScriptItem => ({ type: "text-delta", delta });
const ended = (reason: "max-tokens" | "tool-use", ...items: readonly ScriptItem[]): ScriptedTurn =>
  parts(...items, { type: "usage", usage: SCRIPTED_USAGE }, { type: "stop", reason });
const truncated = (...items: readonly ScriptItem[]): ScriptedTurn => ended("max-tokens", ...items);
const calling = (id: string, json: string): ScriptItem[] => [
  { type: "tool-call-start", id, name: "look" },
  { type: "tool-call-delta", id, delta: json },
];

function open(store: Store, steps: readonly ScriptStep[], maxContinuationRetries = 2) {
  const model = scripted(steps);
  const looked: string[] = [];
  const look = defineTool({
    id: "look",
    description: "looks",
    input: z.object({ at: z.string() }),
    execute: ({ at }) => {
      looked.push(at);
      return "seen";
    },
  });
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: { assistant: { model: "fast", maxContinuationRetries, sections: { retry: { backoffBaseMs: 0 } } } },
    tools: [look],
    store,
    log: { warn() {}, error() {} },
    node: soleNode(crypto.randomUUID()),
    workers: false,
  });
  return { model, runtime, looked };
}

const shownText = (events: readonly AgentEvent[]) => events.flatMap((event) => (event.type === "text-delta" ? event.delta : [])).join("");

/** What a reader of the thread sees, and what is there for the model alone. */
async function stored(store: Store, thread: string) {
  const logged = await store.messages.list(threadId(thread), {});
  const messages = logged.items.map(({ message }) => message);
  return {
    shown: messages.filter(({ visibility }) => visibility !== "internal").map((message) => [message.role, messageText(message)]),
    internal: messages.filter(({ visibility }) => visibility === "internal").map(({ role }) => role),
    roles: messages.map(({ role }) => role),
  };
}

describe.each([
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
] as const)("an answer that the token limit cut, on %s", (_name, openStore) => {
  it("core-execution 91: that was continued is one answer for callers, listeners, the record and the next run", async () => {
    const store = openStore();
    const { runtime, model } = open(store, [
      truncated(say("The answer "), say("has ")),
      truncated(say("three ")),
      text("parts."),
      text("Yes."),
    ]);
    const run = runtime.stream({ agent: "assistant", thread: "t", input: "Tell me" });
    const events: AgentEvent[] = [];
    for await (const event of run) events.push(event);
    const result = await run.result;
    const whole = "The answer has three parts.";
    expect(result).toMatchObject({ text: whole, status: "done", termination: { type: "natural-end" }, steps: 1 });
    expect(result.usage).toEqual({ inputTokens: 30, outputTokens: 15, totalTokens: 45 });
    expect(shownText(events)).toBe(whole);
    expect(events.filter(({ type }) => type === "inference-end")).toMatchObject([{ usage: { totalTokens: 45 } }]);
    expect(await runtime.wait(run.id)).toMatchObject({ text: whole });
    expect(await stored(store, "t")).toEqual({
      shown: [
        ["user", "Tell me"],
        ["assistant", whole],
      ],
      internal: ["user"],
      roles: ["user", "user", "assistant"],
    });

    await runtime.run({ agent: "assistant", thread: "t", input: "Sure?" });
    expect(model.requests[3]?.messages.filter(({ role }) => role === "assistant").map(messageText)).toEqual([whole]);
  });

  it("core-execution 91: holds typed output that was cut in the middle of its JSON", async () => {
    const store = openStore();
    const { runtime } = open(store, [truncated(say('{"city":"Os')), truncated(say('lo","tem')), text('pC":21}')]);
    const output = z.object({ city: z.string(), tempC: z.number() });
    const result = await runtime.run({ agent: "assistant", thread: "t", input: "Weather?", output });
    expect(result).toMatchObject({ output: { city: "Oslo", tempC: 21 }, text: '{"city":"Oslo","tempC":21}', steps: 1 });
    expect((await stored(store, "t")).shown.at(-1)).toEqual(["assistant", '{"city":"Oslo","tempC":21}']);
  });

  it("core-execution 91: stops with max-tokens when no continuation is left, and keeps all that was said", async () => {
    for (const [continuations, steps, kept] of [
      [2, [truncated(say("a")), truncated(say("b")), truncated(say("c"))], "abc"],
      [0, [truncated(say("a"))], "a"],
      [0, [truncated(...calling("c", '{"at":'))], ""],
      [2, [truncated()], ""],
    ] as const) {
      const store = openStore();
      const { runtime, model, looked } = open(store, steps, continuations);
      const result = await runtime.run({ agent: "assistant", thread: "t", input: "go" });
      expect(result).toMatchObject({ text: kept, status: "stopped", limit: "max-tokens" });
      expect(await runtime.wait(result.runId)).toMatchObject({ text: kept, status: "stopped", limit: "max-tokens" });
      expect((await stored(store, "t")).shown.slice(1)).toEqual(kept === "" ? [] : [["assistant", kept]]);
      expect(looked).toEqual([]);
      model.assertDone();
    }
  });

  it("core-execution 91: runs the calls of the part that went on, and stores them with all that was said", async () => {
    const store = openStore();
    const { runtime, looked } = open(store, [
      truncated(say("Let me "), ...calling("c1", '{"at":"no')),
      ended("tool-use", say("look."), ...calling("c2", '{"at":"here"}')),
      text("Done."),
    ]);
    const result = await runtime.run({ agent: "assistant", thread: "t", input: "go" });
    expect(result).toMatchObject({ text: "Done.", steps: 2, status: "done" });
    expect(looked).toEqual(["here"]);
    expect((await stored(store, "t")).shown).toEqual([
      ["user", "go"],
      ["assistant", "Let me look."],
      ["tool", "seen"],
      ["assistant", "Done."],
    ]);
  });

  it("core-execution 91: is answered whole by whoever takes the run up after a crash between its parts", async () => {
    const store = openStore();
    const dying = open(store, [truncated(say("one ")), stall(text("two"), 1)]);
    const cut = dying.runtime.stream({ agent: "assistant", thread: "t", input: "count" });
    let heard = "";
    for await (const event of cut) {
      if (event.type === "text-delta") heard += event.delta;
      if (heard === "one two") break;
    }
    const next = open(store, [truncated(say("one ")), text("two three")]);
    expect(await next.runtime.resume(cut.id)).toMatchObject({ text: "one two three", status: "done" });
    expect((await stored(store, "t")).shown).toEqual([
      ["user", "count"],
      ["assistant", "one two three"],
    ]);
    next.model.assertDone();
  });
});
