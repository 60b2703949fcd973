import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../../create-runtime.ts";
import { command } from "../../phase/command.ts";
import { definePlugin } from "../../plugin/define-plugin.ts";
import { activeAgent } from "../../state/active-agent.ts";
import { SCRIPTED_USAGE, text, toolCall, toolCalls } from "../../testing/script.ts";
import { type ScriptStep, scripted } from "../../testing/scripted.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { reply } from "../../tool/reply.ts";

const PICK = { id: "pick", description: "The client picks", parameters: { type: "object" } };

const back = defineTool({
  id: "give_back",
  description: "",
  input: z.object({}),
  execute: () => reply("ok", { command: command().update(activeAgent, null) }),
});

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "awaken-handoff-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function open(turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) {
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: {
      a: { model: "fast", instructions: "a", handoffs: ["b", "c"], tools: ["give_back"] },
      b: { model: "fast", instructions: "b", description: "Owns invoices", tools: ["give_back"] },
      c: { model: "fast", instructions: "c", tools: [] },
    },
    tools: [back],
    log: { warn() {}, error() {} },
    store: sqliteStore(join(folder, "awaken.db")),
    ...init,
  });
  return { model, runtime };
}

const handoffTo = (agent: string) => toolCall("handoff", { agent });

describe("the handoff tool", () => {
  test("multi-agent 65: the model is offered `handoff`, limited to the list; another name is refused and told", async () => {
    const { model, runtime } = open([handoffTo("d"), handoffTo("b"), text("I am b")]);
    expect(await runtime.run({ agent: "a", thread: "t", input: "go" })).toMatchObject({ status: "done", text: "I am b" });
    const offered = model.requests.map(({ system, tools }) => [system, tools.map(({ id }) => id)]);
    expect(offered).toEqual([
      ["a", ["give_back", "handoff"]],
      ["a", ["give_back", "handoff"]],
      ["b", ["give_back"]],
    ]);
    const tool = model.requests[0]?.tools.find(({ id }) => id === "handoff");
    expect(tool?.parameters).toMatchObject({ properties: { agent: { enum: ["b", "c"] } }, required: ["agent"] });
    expect(tool?.description).toContain("- b: Owns invoices");
    const refused = model.requests[1]?.messages.at(-1);
    expect(refused).toMatchObject({ role: "tool", status: "error" });
    await runtime.close();
  });

  test("limits of the agent that takes over count what the run used before it", async () => {
    const limits = (maxTotal: number): Partial<RuntimeInit> => ({
      agents: {
        a: { model: "fast", handoffs: ["b"] },
        b: { model: "fast", stopConditions: [{ type: "token-budget", maxTotal }] },
      },
    });
    const both = 2 * SCRIPTED_USAGE.totalTokens;
    const within = open([handoffTo("b"), text("done")], limits(both));
    expect(await within.runtime.run({ agent: "a", input: "go" })).toMatchObject({ status: "done", text: "done" });
    await within.runtime.close();
    const over = open([handoffTo("b"), text("done")], limits(both - 1));
    expect(await over.runtime.run({ agent: "a", input: "go" })).toMatchObject({ status: "stopped", limit: "token-budget" });
    await over.runtime.close();
  });

  test("the limit of steps holds for a run that comes back from an agent that counts none", async () => {
    const returning = defineTool({
      id: "return_to_a",
      description: "",
      input: z.object({}),
      execute: () => reply("ok", { command: command().update(activeAgent, "a") }),
    });
    const stay = defineTool({ id: "stay", description: "", input: z.object({}), execute: () => "ok" });
    const { runtime } = open(
      [handoffTo("b"), ...["stay", "return_to_a", "stay", "stay", "stay"].map((name) => toolCall(name, {})), text("never")],
      {
        agents: { a: { model: "fast", maxSteps: 5, handoffs: ["b"] }, b: { model: "fast", maxSteps: 50 } },
        tools: [returning, stay],
      },
    );
    const ended = await runtime.run({ agent: "a", input: "go" });
    expect(ended).toMatchObject({ status: "stopped", limit: "max-steps", steps: 5, detail: "5 of 5 steps" });
    await runtime.close();
  });

  test("multi-agent 29: step 2 runs agent b on the same run id with all messages and with frontend tools", async () => {
    const { model, runtime } = open([handoffTo("b"), toolCall("pick", {})]);
    const waiting = await runtime.run({ agent: "a", thread: "t", input: "go", frontendTools: [PICK] });
    expect(waiting).toMatchObject({ status: "waiting", tickets: [{ toolName: "pick", runId: waiting.runId }] });
    expect(model.requests[1]?.system).toBe("b");
    expect(model.requests[1]?.tools.map(({ id }) => id)).toContain("pick");
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    await runtime.close();
  });

  test("multi-agent 30: the next run without an agent is with b, also in another process; after a clear it is with the base agent", async () => {
    const first = open([handoffTo("b"), text("1")]);
    await first.runtime.run({ agent: "a", thread: "t", input: "go" });
    await first.runtime.close();
    const second = open([text("2")]);
    await second.runtime.run({ thread: "t", input: "and?" });
    expect(second.model.requests[0]?.system).toBe("b");
    await second.runtime.close();
    const third = open([handoffTo("b"), toolCall("give_back", {}), text("3"), text("4")]);
    await third.runtime.run({ agent: "a", thread: "u", input: "go" });
    await third.runtime.run({ thread: "u", input: "and?" });
    expect(third.model.requests.map(({ system }) => system)).toEqual(["a", "b", "b", "a"]);
    await third.runtime.close();
  });

  test("multi-agent 31: a handoff to an agent that is gone ends the run as blocked", async () => {
    const gone = defineTool({
      id: "to_nobody",
      description: "",
      input: z.object({}),
      execute: () => reply("ok", { command: command().update(activeAgent, "nobody") }),
    });
    const other = open([toolCall("to_nobody", {})], {
      tools: [back, gone],
      agents: { a: { model: "fast" } },
      store: sqliteStore(":memory:"),
    });
    const ended = await other.runtime.run({ agent: "a", input: "go" });
    expect(ended).toMatchObject({
      status: "blocked",
      termination: { reason: expect.stringMatching(/^handoff resolve failed: agent not found: nobody/) },
    });
    await other.runtime.close();
  });

  test("multi-agent 32: of two requests before a step boundary the last wins", async () => {
    const both = toolCalls([
      { name: "handoff", input: { agent: "b" } },
      { name: "handoff", input: { agent: "c" } },
    ]);
    const { model, runtime } = open([both, text("c")]);
    await runtime.run({ agent: "a", input: "go" });
    expect(model.requests.map(({ system }) => system)).toEqual(["a", "c"]);
    await runtime.close();
  });

  test("multi-agent 65: a plugin that both agents have stays bound, and sees the agent that acts", async () => {
    const order: string[] = [];
    const watch = (id: string) =>
      definePlugin({
        id,
        register() {},
        onBind: (run) => {
          order.push(`bind ${id}`);
          run.listen((event) => {
            if (event.type === "step-start") order.push(`${id}: step of ${run.agent.id}`);
          });
          return () => order.push(`unbind ${id}`);
        },
      });
    const { runtime } = open([handoffTo("b"), text("done")], {
      plugins: [watch("shared"), watch("own")],
      agents: { a: { model: "fast", handoffs: ["b"], plugins: ["shared", "own"] }, b: { model: "fast", plugins: ["shared"] } },
    });
    await runtime.run({ agent: "a", input: "go" });
    const steps = ["shared: step of a", "own: step of a", "unbind own", "shared: step of b"];
    expect(order).toEqual(["bind shared", "bind own", ...steps, "unbind shared"]);
    await runtime.close();
  });

  test("multi-agent 64: handoffs that never infer end the run as blocked", async () => {
    const pass = (id: string, to: string) => definePlugin({ id, register() {}, onActivate: () => command().update(activeAgent, to) });
    const { model, runtime } = open([], {
      plugins: [pass("to-b", "b"), pass("to-a", "a")],
      agents: { a: { model: "fast", plugins: ["to-b"], maxSteps: 3 }, b: { model: "fast", plugins: ["to-a"], maxSteps: 3 } },
    });
    const ended = await runtime.run({ agent: "a", input: "go" });
    expect(ended).toMatchObject({ status: "blocked", termination: { reason: "more than 3 handoffs without an inference" } });
    expect(model.requests).toHaveLength(0);
    await runtime.close();
  });

  test("multi-agent 65: an exclusion hides it, and a tool of the same name is a conflict", async () => {
    const { model, runtime } = open([text("hi")], {
      agents: { a: { model: "fast", handoffs: ["b"], excludedTools: ["handoff"] }, b: { model: "fast" } },
    });
    await runtime.run({ agent: "a", input: "go" });
    expect(model.requests[0]?.tools.map(({ id }) => id)).toEqual(["give_back"]);
    const own = defineTool({ id: "handoff", description: "", input: z.object({}), execute: () => "" });
    expect(() => open([], { tools: [back, own], store: sqliteStore(":memory:") })).toThrow(/tool ID conflict: "handoff"/);
    await runtime.close();
  });
});
