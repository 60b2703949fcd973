import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { definePlugin, type Plugin } from "../plugin/define-plugin.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import type { Gate } from "../tool/gate.ts";
import { answer, ask, deny } from "../tool/verdict.ts";

const gated = (gate: Gate): Plugin => definePlugin({ id: "gated", register: (r) => r.gate(gate) });

function open(turns: Parameters<typeof scripted>[0], plugins: readonly Plugin[], approve?: () => ReturnType<typeof ask>) {
  const ran: string[] = [];
  const tool = (id: string) =>
    defineTool({
      id,
      description: "",
      input: z.object({}),
      ...(approve === undefined ? {} : { approve }),
      execute: () => {
        ran.push(id);
        return "done";
      },
    });
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { main: model },
    models: { fast: { provider: "main", model: "m" } },
    agents: { assistant: { model: "fast", plugins: plugins.map(({ id }) => id) } },
    tools: [tool("read"), tool("wipe")],
    plugins,
    store: memoryStore(),
    log: { warn() {}, error() {} },
  });
  return { runtime, model, ran };
}

describe("a call that a gate denies", () => {
  it("does not run, the model reads why, its neighbours run and the run goes on", async () => {
    const both = toolCalls([
      { name: "read", input: {} },
      { name: "wipe", input: {} },
    ]);
    const { runtime, ran, model } = open(
      [both, text("then not")],
      [gated(({ call }) => (call.name === "wipe" ? deny("not that") : undefined))],
    );
    const run = runtime.stream({ input: "go" });
    const ends: unknown[] = [];
    for await (const event of run) if (event.type === "tool-call-end") ends.push([event.toolName, event.outcome, event.result]);
    expect(await run.result).toMatchObject({ status: "done", text: "then not" });
    expect(ran).toEqual(["read"]);
    expect(ends).toContainEqual([
      "wipe",
      "failed",
      { type: "error", code: "denied", message: "Denied: not that", metadata: { rejected: true } },
    ]);
    expect(JSON.stringify(model.requests[1]?.messages)).toContain("not that");
  });

  it("stays denied when the tool's own question is approved, and when the decision brings an answer", async () => {
    let isDenied = false;
    const gate: Gate = () => (isDenied ? deny("changed my mind") : undefined);
    for (const decision of [{ action: "approve" }, { action: "answer", result: "made up" }] as const) {
      isDenied = false;
      const { runtime, ran, model } = open([toolCall("wipe", {}), text("ok")], [gated(gate)], () => ask("sure?"));
      const first = await runtime.run({ thread: "t", input: "go" });
      isDenied = true;
      const [ticket] = ticketsOf(first);
      const run = await runtime.decide(ticket?.id ?? "", decision);
      expect((await run.result).status).toBe("done");
      expect(ran).toEqual([]);
      expect(JSON.stringify(model.requests[1]?.messages)).toContain("changed my mind");
      expect(JSON.stringify(model.requests[1]?.messages)).not.toContain("made up");
    }
  });

  it("an approval answers questions alone: an answer of another gate still keeps the tool from running", async () => {
    const asks = definePlugin({ id: "asks", register: (r) => r.gate(() => ask("sure?")) });
    const { runtime, ran } = open(
      [toolCall("wipe", {}), text("ok")],
      [gated(({ resume }) => (resume === undefined ? undefined : answer("cached"))), asks],
    );
    const first = await runtime.run({ thread: "t", input: "go" });
    const [ticket] = ticketsOf(first);
    await (await runtime.decide(ticket?.id ?? "", { action: "approve" })).result;
    expect(ran).toEqual([]);
  });
});

describe("what plugins see of calls", () => {
  it("the result of a call that was refused by a decision reaches afterToolExecute, with the decision and its metadata", async () => {
    const seen: unknown[] = [];
    const watch = definePlugin({
      id: "watch",
      register(r) {
        r.hook("afterToolExecute", ({ call, result, resume }) => {
          seen.push([call.name, result, resume?.decision.action, resume?.decision.metadata]);
        });
      },
    });
    const { runtime } = open([toolCall("wipe", {}), text("ok")], [watch], () => ask("sure?"));
    const first = await runtime.run({ thread: "t", input: "go" });
    const [ticket] = ticketsOf(first);
    const denied = { action: "deny", reason: "no", id: "d1", metadata: { remember: "thread" } } as const;
    expect((await (await runtime.decide(ticket?.id ?? "", denied)).result).status).toBe("done");
    const result = { type: "error", code: "denied", message: "Denied: no", metadata: { rejected: true } };
    expect(seen).toEqual([["wipe", result, "deny", { remember: "thread" }]]);
    await runtime.decide(ticket?.id ?? "", denied);
    const other = runtime.decide(ticket?.id ?? "", { ...denied, metadata: { remember: "none" } });
    await expect(other).rejects.toMatchObject({ code: "decision_conflict" });
  });

  it("hooks, gates and tools see the tools of the agent, also those of the front end and those that are hidden", async () => {
    const seen: string[][] = [];
    const look = (input: { readonly tools: readonly { readonly id: string }[] }): undefined => {
      seen.push(input.tools.map(({ id }) => id));
    };
    const watch = definePlugin({
      id: "watch",
      register(r) {
        r.hook("beforeInference", look);
        r.gate(look);
        r.tool(defineTool({ id: "look", description: "", input: z.object({}), execute: (_, context) => look(context) ?? "ok" }));
      },
    });
    const { runtime } = open([toolCall("look", {}), text("ok")], [watch]);
    await runtime.run({ input: "go", frontendTools: [{ id: "paint", description: "", parameters: { type: "object" } }] });
    expect(seen).toEqual(Array.from({ length: 4 }, () => ["look", "paint", "read", "wipe"]));
  });
});
