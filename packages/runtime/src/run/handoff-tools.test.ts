import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Message, messageText } from "@awaken/contract";
import { sqliteStore } from "@awaken/stores/sqlite";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { createRuntime, type RuntimeInit } from "../create-runtime.ts";
import { command } from "../phase/command.ts";
import { definePlugin } from "../plugin/define-plugin.ts";
import { activeAgent } from "../state/active-agent.ts";
import { crashPoints } from "../testing/crash-points.ts";
import { text, toolCall, toolCalls } from "../testing/script.ts";
import { type ScriptedProvider, type ScriptStep, scripted } from "../testing/scripted.ts";
import { ticketsOf } from "../testing/tickets-of.ts";
import { defineTool } from "../tool/define-tool.ts";
import { reply } from "../tool/reply.ts";

const nothing = z.object({});
const PICK = { id: "pick", name: "pick", description: "The client picks", parameters: { type: "object" } };
const DESK = ["desk_note", "handoff", "pick", "refund", "shared", "to_billing"];
const BILLING = ["charge", "handoff", "look_up", "pick", "shared", "to_desk"];

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "awaken-handoff-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Two agents with tools of their own, one that both have, and one each that comes with a plugin which the other one does not have. */
function world() {
  const ran: string[] = [];
  const own = (id: string) =>
    defineTool({
      id,
      description: "",
      input: nothing,
      idempotent: true,
      execute: (_, { agent }) => {
        ran.push(`${agent.id} ${id}`);
        return `did ${id}`;
      },
    });
  const handoff = (to: string) =>
    defineTool({
      id: `to_${to}`,
      description: "",
      input: nothing,
      idempotent: true,
      execute: () => reply(`now ${to}`, { command: command().update(activeAgent, to) }),
    });
  const bringing = (id: string, tool: string) => definePlugin({ id, register: (r) => r.tool(own(tool)) });
  const tools = [own("shared"), own("refund"), own("charge"), handoff("billing"), handoff("desk")];
  const plugins = [bringing("desk-kit", "desk_note"), bringing("books", "look_up")];
  /** As another process does: an object of its own for everything but the file. */
  const open = (turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) => {
    const model = scripted(turns);
    const store = init.store ?? sqliteStore(join(folder, "awaken.db"));
    const runtime = createRuntime({
      providers: { main: model },
      models: { fast: { provider: "main", model: "m" } },
      agents: {
        desk: {
          model: "fast",
          instructions: "desk",
          tools: ["shared", "refund", "to_billing", "desk_note"],
          plugins: ["desk-kit"],
          handoffs: ["billing"],
        },
        billing: {
          model: "fast",
          instructions: "billing",
          tools: ["shared", "charge", "to_desk", "look_up"],
          plugins: ["books"],
          handoffs: ["desk"],
        },
      },
      tools,
      plugins,
      log: { warn() {}, error() {} },
      ...init,
      store,
    });
    return { model, runtime };
  };
  return { ran, open, tools };
}

/** Who was asked, and with which tools, in the order in which the model got them. */
const offers = ({ requests }: ScriptedProvider) => requests.map(({ system, tools }) => [system, tools.map(({ id }) => id)]);

const told = (messages: readonly Message[] | undefined) =>
  (messages ?? []).flatMap((message) => (message.role === "tool" ? [`${message.status} ${messageText(message)}`] : []));

const callAll = (...names: readonly string[]) => toolCalls(names.map((name) => ({ name, input: {} })));

describe("the tools after a handoff", () => {
  test("core-execution 94: exactly the new agent's tools and the frontend tools are offered and can be called, also after a resume and in the next run", async () => {
    const { ran, open } = world();
    const first = open([
      callAll("shared", "to_billing"),
      callAll("shared", "charge", "look_up", "refund", "desk_note"),
      toolCall("pick", {}),
    ]);
    const waiting = await first.runtime.run({ agent: "desk", thread: "t", input: "go", frontendTools: [PICK] });
    expect(offers(first.model)).toEqual([
      ["desk", DESK],
      ["billing", BILLING],
      ["billing", BILLING],
    ]);
    expect(ran).toEqual(["desk shared", "billing shared", "billing charge", "billing look_up"]);
    expect(told(first.model.requests[2]?.messages).slice(2)).toEqual([
      "success did shared",
      "success did charge",
      "success did look_up",
      "error tool 'refund' not found",
      "error tool 'desk_note' not found",
    ]);
    const [ticket] = ticketsOf(waiting);
    expect(ticket).toMatchObject({ toolName: "pick" });
    first.model.assertDone();
    await first.runtime[Symbol.asyncDispose]();

    ran.length = 0;
    const second = open([callAll("look_up", "charge", "shared", "refund"), text("billed")]);
    await second.runtime.decide(ticket?.id ?? "", { action: "answer", result: "blue" });
    expect(await second.runtime.wait(waiting.runId)).toMatchObject({ status: "done", text: "billed" });
    expect(offers(second.model)).toEqual([
      ["billing", BILLING],
      ["billing", BILLING],
    ]);
    expect(told(second.model.requests[0]?.messages).at(-1)).toBe("success blue");
    expect(ran).toEqual(["billing look_up", "billing charge", "billing shared"]);
    second.model.assertDone();
    await second.runtime[Symbol.asyncDispose]();

    ran.length = 0;
    const third = open([callAll("charge", "look_up"), callAll("to_desk"), callAll("refund", "desk_note", "shared", "charge"), text("bye")]);
    const next = await third.runtime.run({ thread: "t", input: "and now?", frontendTools: [PICK] });
    expect(next).toMatchObject({ status: "done", text: "bye" });
    expect(offers(third.model)).toEqual([
      ["billing", BILLING],
      ["billing", BILLING],
      ["desk", DESK],
      ["desk", DESK],
    ]);
    expect(ran).toEqual(["billing charge", "billing look_up", "desk refund", "desk desk_note", "desk shared"]);
    expect(told(third.model.requests[3]?.messages).at(-1)).toBe("error tool 'charge' not found");
  });

  test("core-execution 94: also when the process died in the new agent's first tool", async () => {
    const { ran, open, tools } = world();
    const points = crashPoints({ at: "tool-start", nth: 2, mode: "throw" });
    const store = points.commits(sqliteStore(join(folder, "awaken.db")), "commit", "transaction");
    const turn = callAll("charge", "look_up");
    const first = open([callAll("to_billing"), turn], { store, tools: points.tools(tools) });
    const dead = first.runtime.stream({ agent: "desk", thread: "t", input: "go", frontendTools: [PICK] });
    await dead.result.catch(() => {});
    expect(points.hasCrashed).toBe(true);
    expect(ran).not.toContain("billing charge");

    ran.length = 0;
    const second = open([callAll("charge", "shared", "refund"), toolCall("pick", {})]);
    const resumed = await second.runtime.resume(dead.id);
    expect(ticketsOf(resumed)).toMatchObject([{ toolName: "pick" }]);
    expect(ran).toEqual(["billing charge", "billing look_up", "billing charge", "billing shared"]);
    expect(offers(second.model)).toEqual([
      ["billing", BILLING],
      ["billing", BILLING],
    ]);
    expect(told(second.model.requests[1]?.messages).at(-1)).toBe("error tool 'refund' not found");
  });

  test("core-execution 94: without frontend tools, the new agent's alone", async () => {
    const { ran, open } = world();
    const { model, runtime } = open([callAll("to_billing"), callAll("charge", "look_up", "pick"), text("done")]);
    expect(await runtime.run({ agent: "desk", thread: "t", input: "go" })).toMatchObject({ status: "done", text: "done" });
    const own = BILLING.filter((id) => id !== "pick");
    expect(offers(model).slice(1)).toEqual([
      ["billing", own],
      ["billing", own],
    ]);
    expect(ran).toEqual(["billing charge", "billing look_up"]);
    expect(told(model.requests[2]?.messages).at(-1)).toBe("error tool 'pick' not found");
  });
});
