import { type LocalAgentSpecInput, parseAgentSpec } from "@awaken/contract/spec";
import { describe, expect, it } from "vitest";
import { toolWarnings } from "./tool-warnings.ts";

function warningsOf(spec: LocalAgentSpecInput, registered: readonly string[], visible = registered): readonly string[] {
  const agent = parseAgentSpec("a", spec);
  if (agent.type !== "local") throw new Error("expected a local agent");
  return toolWarnings(agent, new Set(registered), new Set(visible));
}

describe("toolWarnings", () => {
  it("says nothing about an agent that takes what there is, even when there is nothing", () => {
    expect(warningsOf({}, [])).toEqual([]);
    expect(warningsOf({ tools: ["not-yet-there"], excludedTools: ["nor-this"] }, [])).toEqual([]);
  });

  it("names patterns that match no registered tool, seen before the filter", () => {
    const spec = { toolPatterns: ["mcp:*", "read"], excludedToolPatterns: ["mcp:*", "write*"] };
    expect(warningsOf(spec, ["mcp:a", "read"], [])).toEqual(["tool pattern 'write*' matches no registered tool"]);
  });

  it("names entries that look like permission rules", () => {
    const [first, ...rest] = warningsOf({ tools: ["Bash(rm -rf)", "Bash()", "fine"] }, []);
    expect(first).toContain("'Bash(rm -rf)'");
    expect(first).toContain("section 'permission'");
    expect(rest).toEqual([]);
  });

  it("names stars where ids are literal", () => {
    expect(warningsOf({ tools: ["mcp:*", "a\\*b"], excludedTools: ["x*"] }, [])).toEqual([
      "tool 'mcp:*' is taken literally; a pattern belongs in 'toolPatterns' or 'excludedToolPatterns'",
      "tool 'x*' is taken literally; a pattern belongs in 'toolPatterns' or 'excludedToolPatterns'",
    ]);
  });

  it("names permission rules for tools that the agent does not have", () => {
    const rules = [
      { tool: "Bash" },
      { tool: "Edit(src/*)" },
      { tool: "mcp:*" },
      { tool: "/^web.*/" },
      { tool: "file?" },
      { tool: "[ab]" },
      { tool: "Read" },
      { effect: "deny" },
      "junk",
    ];
    expect(warningsOf({ sections: { permission: { rules } } }, ["Read", "Bash"], ["Read"])).toEqual([
      "a permission rule names tool 'Bash', which the agent does not have",
      "a permission rule names tool 'Edit', which the agent does not have",
    ]);
    expect(warningsOf({ sections: { permission: "all" } }, [])).toEqual([]);
    expect(warningsOf({ sections: { permission: { rules: { tool: "x" } } } }, [])).toEqual([]);
  });
});
