import type { InferenceRequest } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { activeAgent } from "../state/active-agent.ts";
import { defineState } from "../state/key.ts";
import { runScripted } from "../testing/run-scripted.ts";
import { toolCall, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";

const echo = defineTool({
  id: "echo",
  description: "Says it back",
  input: z.object({ text: z.string() }),
  execute: ({ text: said }) => ({ said }),
});

const go = defineTool({
  id: "go",
  description: "",
  input: z.object({}),
  execute: () => reply("gone", { command: command().update(activeAgent, "billing") }),
});

const listKey = (name: string) =>
  defineState(name, { schema: z.array(z.string()), initial: () => [], apply: (value, add: string) => [...value, add] });

/** Written by the plugins of both agents. */
const seen = listKey("seen");

/** Plugins that tell all that is done with them, and to the state what they were told. */
function watched() {
  const order: string[] = [];
  const shared = definePlugin({ id: "shared-keys", register: (r) => r.state(seen) });
  const watch = (id: string) => {
    const own = listKey(`own.${id}`);
    return definePlugin({
      id,
      register(r) {
        r.state(own);
        r.hook("stepStart", ({ agent, state }) => {
          order.push(`step of ${agent.id}: ${id} has ${state.get(own)}`);
        });
      },
      onBind: () => {
        order.push(`bind ${id}`);
        return () => order.push(`unbind ${id}`);
      },
      onActivate: (agent, state) => {
        order.push(`activate ${id} of ${agent.id}, after ${state.get(seen) ?? "nothing"}`);
        return command().update(seen, `+${id}`).update(own, agent.id);
      },
      onDeactivate: (state) => {
        order.push(`deactivate ${id}, after ${state.get(seen) ?? "nothing"}`);
        return command().update(seen, `-${id}`);
      },
    });
  };
  return { order, shared, watch };
}

const offered = (request: InferenceRequest | undefined) => request?.tools.map((tool) => tool.id);

describe("a handoff", () => {
  it("core-execution 42: the new agent's prompt, tools and plugins apply, deactivate ran before activate, and frontend tools stay", async () => {
    const { order, shared, watch } = watched();
    const charge = defineTool({ id: "charge", description: "", input: z.object({}), execute: (_, { agent }) => `charged by ${agent.id}` });
    const second = scripted([
      toolCalls([
        { name: "charge", input: {} },
        { name: "echo", input: { text: "x" } },
      ]),
      toolCall("pick", { of: ["red"] }, { id: "p1" }),
    ]);
    const { model, result, events } = await runScripted({
      turns: [toolCall("echo", { text: "x" }), toolCall("go", {})],
      tools: [echo, go],
      plugins: [watch("a"), watch("b")],
      runtimePlugins: [shared],
      spec: { instructions: "one" },
      agents: {
        billing: {
          model: second,
          spec: { instructions: "two", model: "billing-model" },
          tools: [charge],
          plugins: [watch("c"), watch("d")],
          runtimePlugins: [shared],
        },
      },
      frontendTools: [{ id: "pick", description: "", parameters: { type: "object" } }],
    });
    expect(order).toEqual([
      "bind a",
      "bind b",
      "activate a of agent, after nothing",
      "activate b of agent, after nothing",
      "step of agent: a has agent",
      "step of agent: b has agent",
      "step of agent: a has agent",
      "step of agent: b has agent",
      "deactivate a, after +a,+b",
      "deactivate b, after +a,+b",
      "unbind a",
      "unbind b",
      "bind c",
      "bind d",
      "activate c of billing, after +a,+b,-a,-b",
      "activate d of billing, after +a,+b,-a,-b",
      "step of billing: c has billing",
      "step of billing: d has billing",
      "step of billing: c has billing",
      "step of billing: d has billing",
      "unbind c",
      "unbind d",
    ]);
    expect(model?.requests.map(offered)).toEqual([
      ["echo", "go", "pick"],
      ["echo", "go", "pick"],
    ]);
    expect(second.requests.map(offered)).toEqual([
      ["charge", "pick"],
      ["charge", "pick"],
    ]);
    expect(second.requests.map(({ system, model: name }) => [system, name])).toEqual([
      ["two", "billing-model"],
      ["two", "billing-model"],
    ]);
    const ends = events.flatMap((event) => (event.type === "tool-call-end" ? [event] : []));
    expect(ends.map(({ toolName, outcome }) => `${toolName} ${outcome}`)).toEqual([
      "echo succeeded",
      "go succeeded",
      "charge succeeded",
      "echo failed",
      "pick suspended",
    ]);
    expect(ends[2]).toMatchObject({ result: { data: "charged by billing" } });
    expect(result).toMatchObject({ status: "waiting", tickets: [{ toolCallId: "p1", toolName: "pick", input: { of: ["red"] } }] });
    model?.assertDone();
    second.assertDone();
  });

  it("a handoff to an agent that does not resolve ends the run as blocked", async () => {
    const go = definePlugin({
      id: "go",
      register(r) {
        r.hook("afterInference", () => command().update(activeAgent, "nobody"));
      },
    });
    const { result } = await runScripted({ turns: [toolCall("echo", { text: "x" })], tools: [echo], plugins: [go] });
    expect(result.termination).toEqual({ type: "blocked", reason: "handoff resolve failed: agent not found: nobody" });
  });
});
