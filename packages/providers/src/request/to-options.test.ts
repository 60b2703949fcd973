import type { InferenceRequest, ReasoningEffort } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { never, request } from "../testing/requests.ts";
import { toCallOptions } from "./to-options.ts";
import { vendorOf } from "./vendor.ts";

const convert = (init: Partial<InferenceRequest>, provider = "somebody.chat", hasEffortOption = true) =>
  toCallOptions(request(init), { vendor: vendorOf(provider), headers: {}, signal: never, hasEffortOption });
const effort = (reasoningEffort: ReasoningEffort, provider: string, hasEffortOption: boolean) => {
  const { options, warnings } = convert({ overrides: { reasoningEffort } }, provider, hasEffortOption);
  return { reasoning: options.reasoning, ...options.providerOptions, warnings };
};

describe("call options", () => {
  test("say nothing that was not asked for", () => {
    const { options, warnings } = convert({});
    expect(options).toEqual({ prompt: [{ role: "user", content: [{ type: "text", text: "hello" }] }], abortSignal: never });
    expect(warnings).toEqual([]);
  });

  test("carry sampling, tools by id with cleaned schemas, the response format and headers", () => {
    const parameters = { $schema: "x", type: "object", properties: { a: { const: 1 } } };
    const init = request({
      overrides: { temperature: 0, maxTokens: 100, topP: 0.5 },
      tools: [{ id: "t-1", description: "does", parameters, category: "c" }],
      responseFormat: { schema: { type: "object" }, name: "answer" },
    });
    const { options } = toCallOptions(init, { vendor: vendorOf("x"), headers: { "x-a": "1" }, signal: never, hasEffortOption: true });
    expect(options).toMatchObject({
      temperature: 0,
      maxOutputTokens: 100,
      topP: 0.5,
      tools: [{ type: "function", name: "t-1", description: "does", inputSchema: { type: "object", properties: { a: { enum: [1] } } } }],
      toolChoice: { type: "auto" },
      responseFormat: { type: "json", schema: { type: "object" }, name: "answer" },
      headers: { "x-a": "1" },
    });
  });

  test("a tool's schema is cleaned once", () => {
    const tools = [{ id: "t", description: "", parameters: { type: "object" } }];
    const schemaOf = () => Object(convert({ tools }).options.tools?.[0]).inputSchema;
    expect(schemaOf()).toBe(schemaOf());
  });

  test("OpenAI's responses are not stored there, unless the request says otherwise", () => {
    expect(convert({}, "openai.responses").options.providerOptions).toEqual({ openai: { store: false } });
    expect(convert({ providerOptions: { openai: { store: true, user: "u" } } }, "openai.responses").options.providerOptions).toEqual({
      openai: { store: true, user: "u" },
    });
    expect(convert({}, "openai.chat").options.providerOptions).toBeUndefined();
  });

  test("the request's own options win over ours, field by field", () => {
    const own = { google: { thinkingConfig: { thinkingBudget: 7 } } };
    const low = { overrides: { reasoningEffort: "low" } } as const;
    expect(convert({ ...low, providerOptions: own }, "google.generative-ai").options.providerOptions).toEqual(own);
    const beside = { google: { safetySettings: [] }, other: { a: 1 } };
    expect(convert({ ...low, providerOptions: beside }, "google.generative-ai").options.providerOptions).toEqual({
      google: { thinkingConfig: { includeThoughts: true }, safetySettings: [] },
      other: { a: 1 },
    });
  });
});

describe("reasoning effort", () => {
  test("a named one is the model's own option where it has one", () => {
    expect(effort("max", "openai.responses", true)).toMatchObject({ reasoning: "max", openai: { store: false }, warnings: [] });
    expect(effort("low", "anthropic.messages", true)).toEqual({ reasoning: "low", warnings: [] });
    expect(effort("low", "somebody.chat", true)).toEqual({ reasoning: "low", warnings: [] });
    const thoughts = { google: { thinkingConfig: { includeThoughts: true } } };
    expect(effort("low", "google.generative-ai", true)).toEqual({ reasoning: "low", ...thoughts, warnings: [] });
    expect(effort("none", "google.generative-ai", true)).toEqual({ reasoning: "none", warnings: [] });
  });

  test("else it is said in the vendor's words", () => {
    expect(effort("medium", "openai.chat", false)).toEqual({
      openai: { reasoningEffort: "medium", reasoningSummary: "auto" },
      warnings: [],
    });
    expect(effort("max", "openai.chat", false)).toMatchObject({ openai: { reasoningEffort: "high" } });
    expect(effort("none", "openai.chat", false)).toEqual({ openai: { reasoningEffort: "none" }, warnings: [] });
    expect(effort("high", "anthropic.messages", false)).toMatchObject({
      anthropic: { thinking: { type: "enabled", budgetTokens: 24_576 } },
    });
    expect(effort("none", "anthropic.messages", false)).toMatchObject({ anthropic: { thinking: { type: "disabled" } } });
    const config = { thinkingConfig: { thinkingBudget: 1024, includeThoughts: true } };
    expect(effort("low", "google.generative-ai", false)).toMatchObject({ google: config });
  });

  test.each([true, false])("a budget is said in the vendor's words (own option: %s)", (hasOption) => {
    const budget = { budget: 5000 };
    expect(effort(budget, "anthropic.messages", hasOption)).toEqual({
      anthropic: { thinking: { type: "enabled", budgetTokens: 5000 } },
      warnings: [],
    });
    expect(effort(budget, "google.vertex.chat", hasOption)).toMatchObject({ google: { thinkingConfig: { thinkingBudget: 5000 } } });
    expect(effort(budget, "openai.chat", hasOption)).toMatchObject({
      openai: { reasoningEffort: "medium" },
      warnings: ["reasoning effort: a budget of 5000 tokens was sent as 'medium'"],
    });
  });

  test("a vendor that nobody knows how to ask gets a warning instead", () => {
    const warnings = ["reasoning effort 'high' was ignored: not known how to ask this vendor for it"];
    expect(effort("high", "somebody.chat", false)).toEqual({ warnings });
  });
});
