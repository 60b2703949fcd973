import { type DelegatePersistence, type RunIdentity, runId } from "@awaken/contract";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import type { RuntimeInit } from "../../create-runtime.ts";
import { command } from "../../phase/command.ts";
import { definePlugin } from "../../plugin/define-plugin.ts";
import { defineState } from "../../state/key.ts";
import { text, toolCall } from "../../testing/script.ts";
import type { ChildResult } from "../../tool/child-result.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { reply } from "../../tool/reply.ts";
import type { Tool } from "../../tool/tool.ts";
import { ask } from "../../tool/verdict.ts";
import { type Member, team } from "./team.test-support.ts";

const POLICIES: readonly DelegatePersistence[] = ["ephemeral", "durable"];

const notes = defineState("notes", { schema: z.array(z.string()), initial: (): string[] => [], apply: (_, next: string[]) => next });

const echo = defineTool({
  id: "echo",
  description: "Echoes input back",
  input: z.object({ message: z.string() }),
  execute: (input) => reply(input, { message: "tool result should not win" }),
});

interface Given extends Pick<RuntimeInit, "plugins"> {
  readonly tools?: readonly Tool[];
}

/** What the parent keeps for itself. */
const note = defineTool({
  id: "note",
  description: "",
  input: z.object({}),
  state: [notes],
  execute: () => reply("noted", { command: command().update(notes, ["mine"]) }),
});

/** A parent whose tool asks the agent `delegate`, and what it was told. */
async function delegated(policy: DelegatePersistence, member: Member, { tools = [], ...init }: Given = {}) {
  const results: ChildResult[] = [];
  const call = defineTool({
    id: "call",
    description: "",
    input: z.object({}),
    execute: async (_, ctx) => {
      results.push(await ctx.runAgent({ agent: "delegate", input: "hello", policy }));
      return "called";
    },
  });
  const store = memoryStore();
  const { runtime, models } = team(
    {
      parent: { turns: [toolCall("note", {}), toolCall("call", {}, { id: "tool-1" }), text("done")], spec: { tools: ["note", "call"] } },
      delegate: member,
    },
    { store, ...init, tools: [note, call, ...tools] },
  );
  const parent = await runtime.run({ agent: "parent", thread: "parent-thread", input: "x", overrides: { temperature: 0.5 } });
  await runtime.close();
  const [result] = results;
  if (result === undefined) throw new Error("the delegate was not asked");
  return { result, parent, store, asked: models["delegate"]?.requests ?? [] };
}

describe.each(POLICIES)("a delegate that is %s", (policy) => {
  test("seed 001: execute_delegate_binds_plugin_runtime_context", async () => {
    let binds = 0;
    const binding = definePlugin({
      id: "binding-plugin",
      register() {},
      onBind: () => {
        binds += 1;
        return undefined;
      },
    });
    const member = { turns: [text("delegated response")], spec: { plugins: ["binding-plugin"] } };
    const { result } = await delegated(policy, member, { plugins: [binding] });
    expect(result).toMatchObject({ status: "done", label: "completed" });
    expect(binds).toBe(1);
  });

  test("seed 001: execute_delegate_returns_final_non_tool_message_after_tool_output", async () => {
    const turns = [toolCall("echo", { message: "tool result should not win" }, { say: "checking" }), text("final child answer")];
    const { result } = await delegated(policy, { turns, spec: { tools: ["echo"] } }, { tools: [echo] });
    expect(result).toMatchObject({ status: "done", text: "final child answer", output: { text: "final child answer" }, steps: 2 });
  });

  test("seed 001: a delegate has an identity of its own: one fresh id as run and thread, its origin, and who asked", async () => {
    const seen: RunIdentity[] = [];
    const who = defineTool({
      id: "who",
      description: "",
      input: z.object({}),
      execute: (_, { identity }) => {
        seen.push(identity);
        return "ok";
      },
    });
    const { result, parent } = await delegated(policy, { turns: [toolCall("who", {}), text("ok")] }, { tools: [who] });
    const [identity] = seen;
    expect(identity).toMatchObject({ agentId: "delegate", origin: "subagent", parentRunId: parent.runId });
    expect(identity).toMatchObject({ parentThreadId: "parent-thread", parentToolCallId: "tool-1" });
    expect(identity?.runId).toBe(identity?.threadId);
    expect(identity?.runId).not.toBe(parent.runId);
    expect(result.runId).toBe(identity?.runId);
  });

  test("seed 001: a delegate begins with a state of its own, and sees neither its parent's messages nor overrides", async () => {
    const look = defineTool({
      id: "look",
      description: "",
      input: z.object({}),
      state: [notes],
      execute: (_, { state }) => reply({ notes: state.get(notes) ?? [] }),
    });
    const { result, asked } = await delegated(policy, { turns: [toolCall("look", {}), text("ok")] }, { tools: [look] });
    expect(result.status).toBe("done");
    expect(asked[0]?.messages.map(({ role }) => role)).toEqual(["user"]);
    expect(asked[0]).not.toHaveProperty("overrides");
    expect(JSON.stringify(asked[1]?.messages.at(-1))).toContain('\\"notes\\":[]');
  });

  test("seed 001: an empty answer is none", async () => {
    const { result } = await delegated(policy, { turns: [text("")] });
    expect(result).toMatchObject({ status: "done", text: "" });
    expect(result.output).not.toHaveProperty("text");
  });
});

test("seed 001: a delegate that is ephemeral is kept nowhere, and one that is durable has its record", async () => {
  const kept = async (policy: DelegatePersistence) => {
    const { parent, store } = await delegated(policy, { turns: [text("ok")] });
    return store.runs.count({ parentRunId: runId(parent.runId) });
  };
  expect(await kept("ephemeral")).toBe(0);
  expect(await kept("durable")).toBe(1);
});

test("seed 001: how a delegate ended is its status: completed, failed with why, suspended", async () => {
  const asks = defineTool({ id: "asks", description: "", input: z.object({}), approve: () => ask("may I?"), execute: () => "x" });
  const label = async (member: Member) => (await delegated("ephemeral", member, { tools: [asks, echo] })).result.label;
  expect(await label({ turns: [text("x")] })).toBe("completed");
  expect(await label({ turns: [toolCall("asks", {})] })).toBe("suspended");
  const once = toolCall("echo", { message: "x" });
  expect(await label({ turns: [once], spec: { tools: ["echo"], maxSteps: 1 } })).toMatch(/^failed: stopped: /);
});

test("multi-agent 59: a policy that is neither ephemeral nor durable is refused before anything is resolved", async () => {
  const policy: DelegatePersistence = JSON.parse('"forever"');
  const told: unknown[] = [];
  const call = defineTool({
    id: "call",
    description: "",
    input: z.object({}),
    execute: async (_, ctx) => {
      told.push(await ctx.runAgent({ agent: "nobody", input: "x", policy }).catch((thrown: unknown) => thrown));
      return "x";
    },
  });
  const { runtime } = team({ parent: { turns: [toolCall("call", {}), text("done")] } }, { tools: [call] });
  await runtime.run({ agent: "parent", input: "x" });
  expect(told).toMatchObject([
    { code: "capability_mismatch", message: "execution failed: agent 'nobody' backend does not support: delegate-persistence" },
  ]);
  await runtime.close();
});
