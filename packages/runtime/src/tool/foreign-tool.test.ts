import { jsonSchema, tool as tool7 } from "ai";
import { tool as tool6 } from "ai6";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { type ScriptedTurn, text, toolCall } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import type { ForeignTool, ToolList } from "./foreign-tool.ts";

function runtimeWith(tools: ToolList, turns: readonly ScriptedTurn[]) {
  const model = scripted(turns);
  const runtime = createRuntime({
    providers: { scripted: model },
    models: { fast: { provider: "scripted", model: "s" } },
    agents: { assistant: { model: "fast" } },
    tools,
  });
  return { model, runtime };
}

const lastResult = (model: ReturnType<typeof scripted>) => {
  const message = model.requests.at(-1)?.messages.findLast((each) => each.role === "tool");
  return message?.content[0];
};

describe("AI SDK tools as they are", () => {
  const description = "Weather of a city";
  const inputSchema = z.object({ city: z.string() });
  const makers: readonly (readonly [string, (see: (seen: readonly unknown[]) => void) => ForeignTool])[] = [
    [
      "6",
      (see) =>
        tool6({
          description,
          inputSchema,
          execute: async ({ city }, { toolCallId, abortSignal }) => {
            see([city, toolCallId, abortSignal?.aborted]);
            return { tempC: 21 };
          },
        }),
    ],
    [
      "7",
      (see) =>
        tool7({
          description,
          inputSchema,
          execute: async ({ city }, { toolCallId, abortSignal }) => {
            see([city, toolCallId, abortSignal?.aborted]);
            return { tempC: 21 };
          },
        }),
    ],
  ];

  for (const [major, make] of makers) {
    it(`runs a tool() of ai ${major}, with its input checked and its call id and signal`, async () => {
      const seen: unknown[] = [];
      const weather = make((call) => seen.push(call));
      const { model, runtime } = runtimeWith({ weather }, [
        toolCall("weather", { city: "Oslo" }, { id: "c1" }),
        toolCall("weather", { city: 7 }, { id: "c2" }),
        text("done"),
      ]);
      const result = await runtime.run({ agent: "assistant", input: "go" });
      expect(result.text).toBe("done");
      expect(seen).toEqual([["Oslo", "c1", false]]);
      expect(model.requests[0]?.tools).toMatchObject([{ id: "weather", description, parameters: { type: "object" } }]);
      expect(lastResult(model)).toMatchObject({ text: expect.stringContaining("Invalid arguments") });
      model.assertDone();
    });
  }

  it("takes the AI SDK's own schemas, and the last value of a tool that yields", async () => {
    const count = tool7({
      inputSchema: jsonSchema<{ to: number }>({ type: "object", properties: { to: { type: "number" } }, required: ["to"] }),
      async *execute({ to }) {
        for (let n = 1; n <= to; n++) yield { n };
      },
    });
    const { model, runtime } = runtimeWith({ count }, [toolCall("count", { to: 3 }), text("done")]);
    const events: string[] = [];
    for await (const event of runtime.stream({ agent: "assistant", input: "go" })) {
      if (event.type === "activity-snapshot") events.push(JSON.stringify(event.content));
    }
    expect(lastResult(model)).toMatchObject({ text: '{"n":3}' });
    expect(events).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
  });

  it("asks where needsApproval says so, and leaves a tool without execute to the client", async () => {
    const drop = tool7({
      inputSchema: z.object({ table: z.string() }),
      needsApproval: async ({ table }) => table === "users",
      execute: async () => "dropped",
    });
    const pick = tool7({ inputSchema: z.object({}) });
    const { runtime } = runtimeWith({ drop, pick }, [
      toolCall("drop", { table: "tmp" }),
      toolCall("drop", { table: "users" }, { id: "c2" }),
      toolCall("pick", {}, { id: "c3" }),
      text("x"),
    ]);
    const actions: string[] = [];
    let result = await runtime.run({ agent: "assistant", input: "go" });
    while (result.status === "waiting") {
      const [ticket] = result.tickets;
      if (ticket === undefined) break;
      actions.push(ticket.action);
      await runtime.decide(ticket.id, ticket.action === "approve" ? { action: "approve" } : { action: "answer", result: "blue" });
      result = await runtime.wait(result.runId);
    }
    expect(actions).toEqual(["approve", "tool:pick"]);
    expect(result.text).toBe("x");
  });

  it("refuses what is no tool, by its name", () => {
    expect(() => runtimeWith({ odd: { inputSchema: 7 } }, [])).toThrowError(/tool 'odd': inputSchema must be/);
  });
});
