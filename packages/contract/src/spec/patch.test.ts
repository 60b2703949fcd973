import { describe, expect, it } from "vitest";
import { type AgentSpec, parseAgentSpec } from "./agent.ts";
import { userRecord } from "./envelope.ts";
import { applyAgentPatch, applyToolPatch, effectiveAgentSpec, parseAgentPatch, parseEmptyPatch, parseToolPatch } from "./patch.ts";
import { compileToolCatalogue } from "./tool-catalogue.ts";
import { parseToolRecord } from "./tool-record.ts";

const base = parseAgentSpec("a", {
  description: "old",
  model: "fast",
  instructions: "Be brief.",
  contextPolicy: { maxContextTokens: 1_000 },
  reasoningEffort: "high",
  excludedTools: ["rm"],
  excludedToolPatterns: ["x*"],
  sections: { a: { n: 1 }, b: 0, c: [1], constructor: null },
  plugins: ["p"],
});
const remote = parseAgentSpec("r", {
  remote: { a2a: "https://old", auth: { type: "bearer", token: "t" } },
  registry: "hub",
  description: "d",
});
const patch = (spec: AgentSpec, changes: unknown): AgentSpec => applyAgentPatch(spec, parseAgentPatch(spec.id, changes));
const allows = (spec: AgentSpec, tool: string): boolean => spec.type === "local" && compileToolCatalogue(spec)(tool);

describe("agent patch", () => {
  it("changes nothing when it is empty", () => {
    expect(patch(base, {})).toEqual(base);
    expect(patch(remote, {})).toEqual(remote);
    expect(applyAgentPatch(base, { description: undefined, model: undefined, tools: undefined })).toEqual(base);
  });

  it("replaces scalars and lists, and inherits the rest", () => {
    const changes = { model: "smart", maxSteps: 3, plugins: ["q", "p"], delegates: ["d"], toolExecution: "sequential", instructions: "" };
    expect(patch(base, changes)).toEqual({ ...base, ...changes });
  });

  it("clears what null may clear", () => {
    const cleared = patch(base, {
      description: null,
      contextPolicy: null,
      reasoningEffort: null,
      excludedTools: null,
      excludedToolPatterns: null,
    });
    for (const field of ["description", "contextPolicy", "reasoningEffort", "excludedTools", "excludedToolPatterns"]) {
      expect(base).toHaveProperty(field);
      expect(cleared).not.toHaveProperty(field);
    }
    expect(cleared).toMatchObject({ model: "fast", toolPatterns: ["*"] });
    expect(patch(remote, { description: null })).not.toHaveProperty("description");
  });

  it("sets a whole value, not parts of it", () => {
    expect(patch(base, { contextPolicy: { minRecentMessages: 1 } })).toHaveProperty("contextPolicy.maxContextTokens", 200_000);
  });

  it.each([
    [base, { tools: null, toolPatterns: null }],
    [base, { toolPatterns: null }],
    [parseAgentSpec("a", { tools: ["x"] }), { tools: null }],
    [parseAgentSpec("a", { tools: null, toolPatterns: null }), { model: "m" }],
    [remote, { remote: null }],
  ])("registry-and-runtime 21: %# leaves no allow field and so denies all tools", (spec, changes) => {
    const merged = patch(spec, changes);
    expect(merged).toMatchObject({ tools: [], toolPatterns: [] });
    expect(allows(merged, "x")).toBe(false);
    expect(allows(parseAgentSpec(spec.id, JSON.parse(JSON.stringify(merged))), "x")).toBe(false);
  });

  it("keeps one allow field when the other is cleared", () => {
    const both = parseAgentSpec("a", { tools: ["x"], toolPatterns: ["mcp:*"] });
    expect(patch(both, { toolPatterns: null })).toMatchObject({ tools: ["x"], toolPatterns: null });
    expect(patch(base, { tools: ["only"], toolPatterns: null })).toMatchObject({ tools: ["only"], toolPatterns: null });
  });

  it("registry-and-runtime 22: removes section a, sets b and keeps the others", () => {
    const merged = patch(base, { sections: { a: null, b: 1 } });
    expect(merged).toHaveProperty("sections", { b: 1, c: [1], constructor: null });
    expect(base).toHaveProperty("sections.a", { n: 1 });
  });

  it("replaces a section as a whole", () => {
    expect(patch(base, { sections: { a: { m: 2 } } })).toHaveProperty("sections.a", { m: 2 });
  });

  it("moves an agent elsewhere and back, with its identity", () => {
    const away = patch(base, { remote: { a2a: "https://there" } });
    expect(away).toEqual({
      id: "a",
      type: "remote",
      description: "old",
      remote: { type: "a2a", baseUrl: "https://there", timeoutMs: 300_000, options: {} },
    });
    const back = patch(away, { remote: null, instructions: "Here again.", toolPatterns: ["*"] });
    expect(back).toMatchObject({ id: "a", type: "local", description: "old", instructions: "Here again.", toolPatterns: ["*"] });
    expect(back).not.toHaveProperty("remote");
    expect(patch(base, { remote: null })).toEqual(base);
  });

  it("keeps the registry of a remote agent", () => {
    expect(patch(remote, { remote: { a2a: "https://new" } })).toMatchObject({ registry: "hub", remote: { baseUrl: "https://new" } });
  });

  it.each([
    [{ id: "b" }, "unknown field 'id'"],
    [{ registry: "x" }, "unknown field 'registry'"],
    [{ type: "remote" }, "unknown field 'type'"],
    [{ model: null }, "field 'model' must be a string, got null"],
    [{ stopConditions: [{ type: "timeout", seconds: 86_401 }] }, "timeout.seconds must be <= 86400, got 86401"],
    [{ toolPatterns: [""] }, "field 'toolPatterns.0' is invalid: pattern is empty"],
    [{ remote: { a2a: "https://h" }, model: "m" }, "field 'model' cannot be patched together with 'remote'"],
    [{ remote: { a2a: "ftp://h" } }, "remote endpoint baseUrl must use http:// or https://"],
    [null, "expected an object, got null"],
  ])("refuses %j", (changes, problem) => {
    expect(() => parseAgentPatch("a", changes)).toThrow(`invalid agent patch: ${problem} (agent 'a')`);
  });

  it("refuses local fields for an agent that stays remote", () => {
    expect(() => patch(remote, { instructions: "x" })).toThrow(
      "invalid agent patch: field 'instructions' is for local agents, and the patched agent is remote (agent 'r')",
    );
  });

  it("is laid over the spec of a record", () => {
    const record = userRecord(base);
    expect(effectiveAgentSpec(record)).toBe(base);
    const overridden = { ...record, meta: { ...record.meta, userOverrides: { model: "smart" } } };
    expect(effectiveAgentSpec(overridden)).toEqual({ ...base, model: "smart" });
    const broken = { ...record, meta: { ...record.meta, userOverrides: { modle: "smart" } } };
    expect(() => effectiveAgentSpec(broken)).toThrow("unknown field 'modle'");
  });
});

describe("tool patch", () => {
  const tool = parseToolRecord("t", { name: "T", description: "old", parameters: { type: "object" }, category: "c" });

  it("changes the description", () => {
    expect(applyToolPatch(tool, parseToolPatch("t", { description: "new" }))).toEqual({ ...tool, description: "new" });
    expect(applyToolPatch(tool, parseToolPatch("t", {}))).toEqual(tool);
  });

  it("counts bytes", () => {
    expect(parseToolPatch("t", { description: "é".repeat(2_048) })).toHaveProperty("description");
    expect(() => parseToolPatch("t", { description: `${"é".repeat(2_048)}.` })).toThrow("field 'description' must have at most 4096 bytes");
  });

  it.each([
    [{ description: " " }, "field 'description' cannot be empty"],
    [{ description: null }, "field 'description' must be a string, got null"],
    [{ name: "x" }, "unknown field 'name'"],
  ])("refuses %j", (changes, problem) => {
    expect(() => parseToolPatch("t", changes)).toThrow(`invalid tool patch: ${problem} (tool 't')`);
  });

  it("of a record refuses what a tool record does not have", () => {
    const record = { name: "T", description: "", parameters: {}, execute: 1 };
    expect(() => parseToolRecord("t", record)).toThrow("invalid tool spec: unknown field 'execute'");
    expect(() => parseToolRecord("t", { name: "T", description: "" })).toThrow("field 'parameters' is required: expected an object");
  });
});

describe("patch of what is only replaced", () => {
  it.each(["provider", "model", "model pool"] as const)("of a %s must be empty", (kind) => {
    expect(parseEmptyPatch(kind, "x", {})).toEqual({});
    expect(() => parseEmptyPatch(kind, "x", { model: "y" })).toThrow(`invalid ${kind} patch: unknown field 'model' (${kind} 'x')`);
  });
});
