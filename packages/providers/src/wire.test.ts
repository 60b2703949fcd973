import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callsOf, collect, reasoningOf, textOf, user } from "./testing/requests.ts";
import { VENDORS } from "./testing/vendors.ts";

const mock = new LLMock({ port: 0, host: "127.0.0.1", chunkSize: 4 });
const tools = ["clock", "weather"].map((id) => ({ id, description: id, parameters: { type: "object" } }));

beforeAll(async () => {
  mock.onMessage("say hello", {
    content: "Hello from the other side.",
    usage: { input_tokens: 11, output_tokens: 5, prompt_tokens: 11, completion_tokens: 5, promptTokenCount: 11, candidatesTokenCount: 5 },
  });
  mock.onMessage("call tools", {
    content: "Let me look.",
    toolCalls: [
      { name: "weather", arguments: { city: "Oslo", days: [1, 2] } },
      { name: "clock", arguments: {} },
    ],
  });
  mock.onMessage("think first", { content: "42", reasoning: "Six times seven.", reasoningSignature: "signed" });
  await mock.start();
});
afterAll(() => mock.stop());

describe.each(VENDORS)("$vendor over HTTP (aimock)", ({ vendor, model, provider }) => {
  test("text comes as deltas, then usage, then stop", async () => {
    const parts = await collect(provider(mock.url), { model, messages: [user("say hello")], system: "Be brief." });
    expect(textOf(parts)).toBe("Hello from the other side.");
    expect(parts.filter(({ type }) => type === "text-delta").length).toBeGreaterThan(3);
    const [usage, stop] = parts.slice(-2);
    expect(usage).toMatchObject({ type: "usage", usage: { inputTokens: 11, outputTokens: 5, totalTokens: 16 } });
    expect(stop).toEqual({ type: "stop", reason: "end-turn" });
  });

  test("parallel tool calls keep their order and their inputs", async () => {
    const parts = await collect(provider(mock.url), { model, messages: [user("call tools")], tools });
    expect(textOf(parts)).toBe("Let me look.");
    expect(callsOf(parts)).toEqual([
      { name: "weather", input: { city: "Oslo", days: [1, 2] } },
      { name: "clock", input: {} },
    ]);
    const textEnd = parts.findIndex(({ type }) => type === "block-end");
    expect(textEnd).toBeLessThan(parts.findIndex(({ type }) => type === "tool-call-start"));
    expect(parts.at(-1)).toEqual({ type: "stop", reason: "tool-use" });
  });

  test("reasoning comes apart from the text", async () => {
    const parts = await collect(provider(mock.url), { model, messages: [user("think first")], overrides: { reasoningEffort: "high" } });
    expect(textOf(parts)).toBe("42");
    expect(reasoningOf(parts)).toBe("Six times seven.");
    const end = parts.find(({ type }) => type === "block-end");
    if (vendor === "anthropic") {
      expect(end).toEqual({ type: "block-end", signature: "signed", providerMetadata: { anthropic: { signature: "signed" } } });
    }
    if (vendor === "openai") expect(end).toMatchObject({ signature: expect.any(String), providerMetadata: { openai: {} } });
  });
});
