import { parseModelSpec } from "@awaken/contract/spec";
import { describe, expect, it } from "vitest";
import { type Capabilities, isCutoff, modelCapabilities, poolCapabilities } from "./capabilities.ts";
import { tableCapabilities } from "./capability-table.ts";
import { clampContext } from "./clamp-context.ts";
import { toContextPolicy } from "./context-policy.test-support.ts";
import { discoveredCapabilities } from "./discovery.ts";

const model = (fields: Capabilities = {}, name = "unheard-of") => parseModelSpec("m", { provider: "p", model: name, ...fields });
const declared = (fields: Capabilities) => modelCapabilities(model(fields));

describe("modelCapabilities", () => {
  it("takes each field from the spec, else from the provider, else from the table", () => {
    const { known, trusted } = modelCapabilities(model({ contextWindow: 100_000 }, "gpt-4o-mini"), {
      maxOutputTokens: 9000,
      contextWindow: 50_000,
    });
    expect(trusted).toEqual({ contextWindow: 100_000, maxOutputTokens: 9000 });
    expect(known).toEqual({
      contextWindow: 100_000,
      maxOutputTokens: 9000,
    });
  });

  it("does not believe what cannot be true", () => {
    const odd = { contextWindow: 0, maxOutputTokens: 10, knowledgeCutoff: "2025-02-30", modalities: { input: [], output: [] } };
    expect(modelCapabilities(model(), odd).trusted).toEqual({ maxOutputTokens: 10 });
    expect(modelCapabilities(model(), { contextWindow: 10, maxOutputTokens: 11 }).trusted).toEqual({ contextWindow: 10 });
    expect(modelCapabilities(model({ contextWindow: 1000 }, "gpt-4o")).known.maxOutputTokens).toBeUndefined();
    expect(modelCapabilities(model({ maxOutputTokens: 9000 }), { contextWindow: 5000 }).trusted).toEqual({ maxOutputTokens: 9000 });
  });

  it("finds a table entry by the longest beginning, behind a gateway's prefix too", () => {
    expect(tableCapabilities("openai/gpt-5-chat-latest")?.contextWindow).toBe(128_000);
    expect(tableCapabilities("gpt-5")?.contextWindow).toBe(400_000);
    expect(tableCapabilities("nobody-knows")).toBeUndefined();
  });

  it("knows a real date", () => {
    expect(["2025-06", "2024-02-29"].map(isCutoff)).toEqual([true, true]);
    expect(["2025-13", "2025-02-29", "June 2025", "2025-6", "2025-06-01; ignore all"].map(isCutoff)).toEqual([
      false,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe("poolCapabilities", () => {
  it("inference 40: has a window only if every member has one, and then the smallest", () => {
    const a = declared({ contextWindow: 200_000, maxOutputTokens: 8000, knowledgeCutoff: "2025-01" });
    const b = declared({ contextWindow: 100_000, maxOutputTokens: 16_000, knowledgeCutoff: "2025-01" });
    expect(poolCapabilities([a, b]).trusted).toEqual({ contextWindow: 100_000, maxOutputTokens: 8000, knowledgeCutoff: "2025-01" });
    expect(poolCapabilities([a, declared({ maxOutputTokens: 1 })]).trusted).toEqual({ maxOutputTokens: 1 });
    expect(poolCapabilities([a, declared({ contextWindow: 5, knowledgeCutoff: "2024-01" })]).trusted).toEqual({ contextWindow: 5 });
  });

  it("has no modalities and no prices", () => {
    const a = declared({ modalities: { input: ["text"], output: ["text"] }, inputTokenPricePerMillionUsd: 1 });
    expect(poolCapabilities([a, a]).trusted).toEqual({});
  });
});

describe("clampContext", () => {
  const policy = (fields: object) => toContextPolicy(fields);

  it("inference 41: narrows window, answer and threshold to the model", () => {
    const given = policy({ maxContextTokens: 200_000, maxOutputTokens: 16_000, autocompactThreshold: 95_000 });
    expect(clampContext(given, { contextWindow: 100_000, maxOutputTokens: 8000 })).toMatchObject({
      maxContextTokens: 100_000,
      maxOutputTokens: 8000,
      autocompactThreshold: 92_000,
    });
  });

  it("inference 41: removes the threshold when the answer fills the window", () => {
    const given = policy({ maxContextTokens: 200_000, maxOutputTokens: 16_000, autocompactThreshold: 95_000 });
    const clamped = clampContext(given, { contextWindow: 10_000 });
    expect(clamped).toMatchObject({ maxContextTokens: 10_000, maxOutputTokens: 10_000 });
    expect(clamped).not.toHaveProperty("autocompactThreshold");
  });

  it("never widens", () => {
    const given = policy({ maxContextTokens: 1000, maxOutputTokens: 100, autocompactThreshold: 500 });
    expect(clampContext(given, { contextWindow: 1_000_000, maxOutputTokens: 64_000 })).toEqual(given);
    expect(clampContext(given, {})).toEqual(given);
  });
});

describe("discoveredCapabilities", () => {
  it("reads OpenAI's shape and its kin", () => {
    expect(discoveredCapabilities("openai", { context_length: 1000, top_provider: { max_completion_tokens: 100 } })).toEqual({
      contextWindow: 1000,
      maxOutputTokens: 100,
    });
    const rich = {
      context_window: 2000,
      max_output_tokens: 50,
      architecture: { input_modalities: ["text", "FILE", "smell"], output_modalities: ["text"] },
      knowledge_cutoff: "2025-01",
    };
    expect(discoveredCapabilities("openai", rich)).toEqual({
      contextWindow: 2000,
      maxOutputTokens: 50,
      modalities: { input: ["text", "pdf"], output: ["text"] },
      knowledgeCutoff: "2025-01",
    });
    expect(discoveredCapabilities("openai", { context_window: "big", architecture: 3 })).toEqual({});
  });

  it("reads Gemini's shape", () => {
    expect(discoveredCapabilities("gemini", { inputTokenLimit: 1_048_576, outputTokenLimit: 8192 })).toEqual({
      contextWindow: 1_048_576,
      maxOutputTokens: 8192,
    });
  });
});
