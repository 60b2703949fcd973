import { describe, expect, expectTypeOf, it } from "vitest";
import type { JsonObject } from "../json.ts";
import { Secret } from "../secret.ts";
import { type AgentSpec, type AgentSpecInput, displayDescription, encodeAgentSpec, type LocalAgentSpec, parseAgentSpec } from "./agent.ts";
import { compileToolCatalogue } from "./tool-catalogue.ts";

const local = (input: AgentSpecInput = {}): LocalAgentSpec => {
  const spec = parseAgentSpec("a", input);
  if (spec.type !== "local") throw new Error("not local");
  return spec;
};
const throughJson = (spec: AgentSpec): LocalAgentSpec => local(JSON.parse(JSON.stringify(spec)));
const throughStore = (spec: AgentSpec): LocalAgentSpec => local(JSON.parse(JSON.stringify(encodeAgentSpec(spec))));

describe("local agent", () => {
  it("has the defaults of the specification", () => {
    expect(parseAgentSpec("a", {})).toEqual({
      id: "a",
      type: "local",
      model: "",
      instructions: "",
      maxSteps: 16,
      maxContinuationRetries: 2,
      toolExecution: "parallel",
      stopConditions: [],
      plugins: [],
      activePlugins: [],
      toolPatterns: ["*"],
      sections: {},
      delegates: [],
      handoffs: [],
    });
  });

  it("keeps everything that is written", () => {
    const written = {
      id: "a",
      type: "local",
      description: "Finds facts",
      model: "fast",
      instructions: "Be brief.",
      maxSteps: 0,
      maxContinuationRetries: 0,
      toolExecution: "sequential",
      stopConditions: [{ type: "timeout", seconds: 60 }],
      contextPolicy: {
        maxContextTokens: 1,
        maxOutputTokens: 2,
        minRecentMessages: 3,
        enablePromptCache: false,
        autocompactThreshold: 4,
        compactionMode: "compact-to-safe-frontier",
        compactionRawSuffixMessages: 5,
      },
      reasoningEffort: { budget: 1024 },
      plugins: ["b", "a"],
      activePlugins: ["a"],
      tools: ["search"],
      toolPatterns: ["mcp:*"],
      excludedTools: ["mcp:x"],
      excludedToolPatterns: ["*secret*"],
      sections: { budget: { capCents: 300, list: [null, true, { deep: "x" }] }, gone: null },
      delegates: ["researcher"],
      handoffs: ["billing"],
    };
    expect(parseAgentSpec("a", written)).toEqual(written);
  });

  it("is its own valid input, so that it can be written back", () => {
    const spec = local({ model: "m", contextPolicy: {}, toolExecution: "parallel-streaming", tools: null });
    expect(parseAgentSpec("a", spec)).toEqual(spec);
  });

  it.each(["parallel", "parallel-batch-approval", "parallel-streaming"] as const)("core-execution D20: %s is parallel", (toolExecution) => {
    expect(local({ toolExecution }).toolExecution).toBe("parallel");
  });

  it.each(["none", "low", "medium", "high", "max", { budget: 0 }] as const)("takes reasoning effort %j", (reasoningEffort) => {
    expect(local({ reasoningEffort }).reasoningEffort).toEqual(reasoningEffort);
  });

  it("shares nothing with what it was made from", () => {
    const sections = { a: { list: [1] } };
    const tools = ["x"];
    const spec = local({ sections, tools });
    sections.a.list.push(2);
    tools.push("y");
    expect(spec.sections).toEqual({ a: { list: [1] } });
    expect(spec.tools).toEqual(["x"]);
  });

  it("ignores members that are undefined, as JSON does", () => {
    const input = { model: "m", description: undefined, tools: undefined, sections: { a: { b: undefined, c: 1 } } };
    const spec = parseAgentSpec("a", input);
    expect(Object.keys(spec)).not.toContain("description");
    expect(spec).toMatchObject({ toolPatterns: ["*"], sections: { a: { c: 1 } } });
    expect(JSON.stringify(spec)).toBe(JSON.stringify(parseAgentSpec("a", { model: "m", sections: { a: { c: 1 } } })));
  });

  it.each([
    [{ system_prompt: "x" }, "unknown field 'system_prompt'"],
    [{ contextPolicy: { max: 1 } }, "unknown field 'contextPolicy.max'"],
    [{ registry: "x" }, "unknown field 'registry'"],
    [{ maxSteps: 1.5 }, "field 'maxSteps' must be an integer, got 1.5"],
    [{ maxSteps: -1 }, "field 'maxSteps' must be at least 0, got -1"],
    [{ instructions: 7 }, "field 'instructions' must be a string, got a number"],
    [{ plugins: "budget" }, "field 'plugins' must be an array, got a string"],
    [{ plugins: ["x", " "] }, "field 'plugins.1' cannot be empty"],
    [{ sections: [] }, "field 'sections' must be an object, got an array"],
    [{ toolExecution: "eager" }, "must be one of 'parallel', 'sequential', 'parallel-batch-approval', 'parallel-streaming', got 'eager'"],
    [{ reasoningEffort: "huge" }, "field 'reasoningEffort' must be one of 'none', 'low', 'medium', 'high', 'max' or an object, got 'huge'"],
    [{ reasoningEffort: { budget: -1 } }, "field 'reasoningEffort.budget' must be at least 0, got -1"],
    [{ id: "b" }, "field 'id' must be 'a'"],
    [{ toolPatterns: ["ok", ""] }, "field 'toolPatterns.1' is invalid: pattern is empty"],
    [{ excludedToolPatterns: ["x\\"] }, "field 'excludedToolPatterns.0' is invalid: pattern ends with a dangling escape"],
  ])("refuses %j", (input, problem) => {
    expect(() => parseAgentSpec("a", input)).toThrow(problem);
    expect(() => parseAgentSpec("a", input)).toThrow(/^invalid agent spec: .* \(agent 'a'\)$/s);
  });

  it.each(["", " ", "__proto__"])("refuses %j as an id", (id) => {
    expect(() => parseAgentSpec(id, {})).toThrow("invalid agent spec: field 'id'");
  });
});

describe("tool catalogue of an agent", () => {
  const forms: readonly [string, (input: AgentSpecInput) => LocalAgentSpec][] = [
    ["as parsed", local],
    ["after a JSON round trip", (input) => throughJson(local(input))],
    ["after being stored", (input) => throughStore(local(input))],
  ];

  describe.each(forms)("%s", (_name, parse) => {
    it.each([
      [{}, true],
      [{ tools: null, toolPatterns: null }, false],
      [{ tools: [], toolPatterns: [] }, false],
      [{ tools: null }, false],
      [{ toolPatterns: null }, false],
      [{ tools: [] }, false],
      [{ toolPatterns: [] }, false],
      [{ excludedTools: null, excludedToolPatterns: null }, true],
    ])("registry-and-runtime 18: with %j every tool passes: %s", (input, passes) => {
      const allows = compileToolCatalogue(parse(input));
      expect([allows("Bash"), allows("mcp:x"), allows("")]).toEqual([passes, passes, passes]);
    });

    it("registry-and-runtime 19: mcp:* without mcp:x lets mcp:y through, and neither mcp:x nor Bash", () => {
      const allows = compileToolCatalogue(parse({ toolPatterns: ["mcp:*"], excludedTools: ["mcp:x"] }));
      expect([allows("mcp:y"), allows("mcp:x"), allows("Bash")]).toEqual([true, false, false]);
    });

    it("registry-and-runtime 20: foo\\*bar lets foo*bar through only", () => {
      const allows = compileToolCatalogue(parse({ toolPatterns: ["foo\\*bar"] }));
      expect([allows("foo*bar"), allows("fooxbar")]).toEqual([true, false]);
    });
  });

  it("registry-and-runtime 18: keeps absent, null and list apart in a round trip", () => {
    for (const input of [{ tools: null }, { toolPatterns: null }, { tools: null, toolPatterns: [] }, { tools: ["x"] }]) {
      const { tools, toolPatterns } = throughStore(local(input));
      expect(JSON.stringify({ tools, toolPatterns })).toBe(JSON.stringify({ ...input }));
    }
  });

  it("never reads a literal as a pattern, and an exclusion wins", () => {
    const allows = compileToolCatalogue(local({ tools: ["*", "a"], toolPatterns: ["b*"], excludedToolPatterns: ["*2"] }));
    expect([allows("*"), allows("a"), allows("c"), allows("b1"), allows("b2")]).toEqual([true, true, false, true, false]);
  });
});

describe("remote agent", () => {
  it("is stored in full, whichever way it was written", () => {
    const stored = {
      id: "legal",
      type: "remote",
      remote: { type: "a2a", baseUrl: "https://legal.example.com", timeoutMs: 300_000, options: {} },
    };
    expect(parseAgentSpec("legal", { remote: { a2a: "https://legal.example.com" } })).toEqual(stored);
    expect(parseAgentSpec("legal", stored)).toEqual(stored);
  });

  it("hides its token and keeps it through the store", () => {
    const auth = { type: "bearer", token: "t0ken-t0ken" } as const;
    const spec = parseAgentSpec("r", { remote: { a2a: "https://h", auth }, registry: "source", description: "d" });
    expect(spec).toMatchObject({ remote: { auth: { token: new Secret("t0ken-t0ken") } } });
    expect(String(spec.type === "remote" && spec.remote.auth?.token)).toBe("***");
    expect(encodeAgentSpec(spec)).toMatchObject({ registry: "source", remote: { auth: { type: "bearer", token: "t0ken-t0ken" } } });
    expect(parseAgentSpec("r", spec)).toEqual(spec);
    expect(encodeAgentSpec(parseAgentSpec("r", spec))).toEqual(encodeAgentSpec(spec));
  });

  it.each([
    [{ remote: { a2a: "https://h" }, instructions: "x" }, "field 'instructions' is for local agents"],
    [{ remote: { a2a: "https://h" }, tools: [] }, "field 'tools' is for local agents"],
    [{ type: "remote" }, "field 'remote' is required"],
    [{ type: "local", remote: { a2a: "https://h" } }, "field 'type' must be 'remote', got 'local'"],
    [{ remote: "https://h" }, "field 'remote' must be an object, got a string"],
    [{ remote: null }, "field 'remote' must be an object, got null"],
    [{ remote: {} }, "field 'remote.a2a' is required: expected a string"],
    [{ remote: { a2a: 5 } }, "field 'remote.a2a' must be a string, got a number"],
    [{ remote: { a2a: "https://h", bearer_token: "x" } }, "unknown field 'remote.bearer_token'"],
    [{ remote: { a2a: "https://h", baseUrl: "https://h" } }, "unknown field 'remote.baseUrl'"],
  ])("refuses %j", (input, problem) => {
    expect(() => parseAgentSpec("a", input)).toThrow(`invalid agent spec: ${problem}`);
  });
});

describe("stored form", () => {
  it("leaves out the lists and maps that are empty by default, and nothing that means something", () => {
    const stored = encodeAgentSpec(local({ tools: [], toolPatterns: null }));
    expect(stored).toEqual({
      id: "a",
      type: "local",
      model: "",
      instructions: "",
      maxSteps: 16,
      maxContinuationRetries: 2,
      toolExecution: "parallel",
      plugins: [],
      tools: [],
      toolPatterns: null,
    });
    expectTypeOf(stored).toEqualTypeOf<JsonObject>();
  });

  it("reads back as the same spec", () => {
    const spec = local({ model: "m", sections: { a: {} }, delegates: ["d"], stopConditions: [{ type: "max-steps", steps: 3 }] });
    expect(throughStore(spec)).toEqual(spec);
  });
});

describe("displayDescription", () => {
  it.each([
    [{ description: "  Finds facts \n", instructions: "x" }, "Finds facts"],
    [{ description: "  ", instructions: "\n \n\t Be brief. \nAlways." }, "Be brief."],
    [{ instructions: " \n " }, "a"],
    [{}, "a"],
    [{ instructions: "x".repeat(101) }, "x".repeat(100)],
    [{ instructions: "🙂".repeat(101) }, "🙂".repeat(100)],
    [{ remote: { a2a: "https://h" } }, "a"],
    [{ remote: { a2a: "https://h" }, description: "Law" }, "Law"],
  ])("of %j is %j", (input, text) => {
    expect(displayDescription(parseAgentSpec("a", input))).toBe(text);
  });
});

describe("types", () => {
  it("take what API.md writes, and a spec that is changed by spreading it", () => {
    const agents = {
      lead: { model: "smart", instructions: "Delegate, then answer.", delegates: ["researcher", "legal"], handoffs: ["billing"] },
      researcher: { model: "fast", description: "Finds facts", tools: ["search"] },
      assistant: { model: "fast", plugins: ["budget"], sections: { budget: { capCents: 300 } } },
      legal: { remote: { a2a: "https://legal.example.com" } },
    } as const satisfies Record<string, AgentSpecInput>;
    const beKind = (agent: AgentSpecInput): AgentSpecInput => ({ ...agent, instructions: "Be kind." });
    const parsed: AgentSpec = parseAgentSpec("lead", agents.lead);
    expect(parseAgentSpec("lead", beKind(parsed))).toEqual({ ...parsed, instructions: "Be kind." });
    expect(parseAgentSpec("assistant", beKind(agents.assistant))).toMatchObject({ instructions: "Be kind.", plugins: ["budget"] });
    expect(() => parseAgentSpec("legal", beKind(agents.legal))).toThrow("field 'instructions' is for local agents");
    expectTypeOf(parsed).toExtend<AgentSpecInput>();
    expectTypeOf<LocalAgentSpec["tools"]>().toEqualTypeOf<readonly string[] | null | undefined>();
    expectTypeOf<LocalAgentSpec["toolExecution"]>().toEqualTypeOf<"parallel" | "sequential">();
    expectTypeOf<LocalAgentSpec["sections"]>().toExtend<JsonObject>();
  });
});
