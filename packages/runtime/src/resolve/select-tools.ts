import { AwakenError } from "@awaken/contract";
import { compileToolCatalogue, type LocalAgentSpec } from "@awaken/contract/spec";
import type { Tool } from "../tool/tool.ts";

const NONE: ReadonlySet<string> = new Set();

/** Where tools come from, in the order in which they are registered. */
export type ToolSource = readonly [source: "global" | "runtime" | "delegate" | "handoff" | "plugin", tools: Iterable<Tool>];

/** All tools of all sources. Two of one id would leave it open which one the model calls. */
export function gatherTools(sources: readonly ToolSource[]): ReadonlyMap<string, Tool> {
  const owners = new Map<string, ToolSource[0]>();
  const tools = new Map<string, Tool>();
  for (const [source, list] of sources) {
    for (const tool of list) {
      const owner = owners.get(tool.id);
      if (owner !== undefined) {
        const message = `tool ID conflict: "${tool.id}" registered by both ${owner} and ${source}`;
        throw new AwakenError("tool_id_conflict", message, { details: { toolId: tool.id, sources: [owner, source] } });
      }
      owners.set(tool.id, source);
      tools.set(tool.id, tool);
    }
  }
  return tools;
}

/** All tools, with those of sources that give way to none. What gives way is told. */
export function addLateTools(
  tools: ReadonlyMap<string, Tool>,
  late: ReadonlyMap<string, Tool>,
): { readonly tools: ReadonlyMap<string, Tool>; readonly warnings: readonly string[] } {
  if (late.size === 0) return { tools, warnings: [] };
  const taken = [...late.keys()].filter((id) => tools.has(id));
  const warnings = taken.map((id) => `tool '${id}' of a source is left out: another tool has that id`);
  return { tools: new Map([...late, ...tools]), warnings };
}

/** The tools that the agent's catalogue lets through. `named` are those that other fields of the agent ask for: only an exclusion hides them. */
export function filterTools(
  agent: LocalAgentSpec,
  tools: ReadonlyMap<string, Tool>,
  named: ReadonlySet<string> = NONE,
): ReadonlyMap<string, Tool> {
  const isVisible = compileToolCatalogue(agent);
  const isShown = named.size === 0 ? isVisible : compileToolCatalogue({ ...agent, toolPatterns: ["*"] });
  return new Map([...tools].filter(([id]) => (named.has(id) ? isShown(id) : isVisible(id))));
}
