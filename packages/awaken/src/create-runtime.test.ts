import { createOpenAI } from "@ai-sdk/openai";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as z from "zod";
import { ask, createRuntime, defineTool } from "./index.ts";
import { scripted, text, ticketsOf, toolCall } from "./testing.ts";

const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string() }),
  execute: async ({ city }) => ({ city, tempC: 21 }),
});

describe("createRuntime of the facade", () => {
  const mock = new LLMock({ port: 0 });
  beforeAll(async () => {
    await mock.start();
    mock.onMessage(/weather/i, { content: "21 degrees." });
  });
  afterAll(() => mock.stop());

  const openai = () => createOpenAI({ apiKey: "sk-test", baseURL: `${mock.url}/v1` });

  it("takes an AI SDK provider as it is", async () => {
    const runtime = createRuntime({
      providers: { openai: openai() },
      models: { fast: { provider: "openai", model: "gpt-5-mini" } },
      agents: { assistant: { model: "fast", instructions: "Be brief." } },
      tools: [weather],
    });
    const result = await runtime.run({ agent: "assistant", thread: "t1", input: "What is the weather?" });
    expect(result).toMatchObject({ text: "21 degrees.", status: "done" });
  });

  it("takes an AI SDK model object as an agent's model", async () => {
    const runtime = createRuntime({ agents: { assistant: { model: openai()("gpt-5-mini"), instructions: "Be brief." } } });
    expect((await runtime.run({ agent: "assistant", input: "What is the weather?" })).text).toBe("21 degrees.");
  });

  it("registers and replaces AI SDK providers while it runs", async () => {
    const model = scripted([text("one")]);
    const runtime = createRuntime({
      providers: { main: model },
      models: { fast: { provider: "main", model: "gpt-5-mini" } },
      agents: { assistant: { model: "fast" } },
    });
    expect((await runtime.run({ agent: "assistant", input: "hi" })).text).toBe("one");
    expect(runtime.registry.registerProvider("backup", openai())).toBe(2);
    expect(runtime.registry.replaceProvider("main", openai())).toBe(3);
    expect((await runtime.run({ agent: "assistant", input: "weather?" })).text).toBe("21 degrees.");
  });

  it("keeps threads in memory, and waits for a decision there", async () => {
    const guarded = defineTool({ id: "guarded", description: "", input: z.object({}), approve: () => ask("sure?"), execute: () => "done" });
    const model = scripted([toolCall("guarded", {}), text("ok"), text("again")]);
    const runtime = createRuntime({
      providers: { main: model },
      models: { fast: { provider: "main", model: "m" } },
      agents: { assistant: { model: "fast" } },
      tools: [guarded],
    });
    const first = await runtime.run({ agent: "assistant", thread: "t", input: "go" });
    const [ticket] = ticketsOf(first);
    await runtime.decide(ticket?.id ?? "", { action: "approve" });
    expect((await runtime.wait(first.runId)).text).toBe("ok");
    await runtime.run({ agent: "assistant", thread: "t", input: "more" });
    expect(model.requests[2]?.messages).toHaveLength(5);
    model.assertDone();
  });

  it("says which provider is none", () => {
    expect(() => createRuntime({ providers: { odd: { name: "x" } as never }, agents: {} })).toThrowError(/provider 'odd'/);
  });
});
