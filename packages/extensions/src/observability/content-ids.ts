import { createHash } from "node:crypto";
import type { ToolDescriptor } from "@awaken/contract";
import type { LocalAgentSpec } from "@awaken/contract/spec";

const SEPARATOR = "\u001f";

/** 12 hex digits that stand for these parts. */
export const contentId = (...parts: readonly string[]): string =>
  createHash("sha256").update(parts.join(SEPARATOR)).digest("hex").slice(0, 12);

/** Specs and descriptors are frozen and shared by all runs of a plan, so each is hashed once. */
const prompts = new WeakMap<LocalAgentSpec, string>();
const tools = new WeakMap<ToolDescriptor, string>();
const lists = new WeakMap<readonly ToolDescriptor[], readonly string[]>();

export function promptIdOf(agent: LocalAgentSpec): string {
  const known = prompts.get(agent);
  if (known !== undefined) return known;
  const id = contentId(agent.id, "system", agent.instructions);
  prompts.set(agent, id);
  return id;
}

function toolIdOf(tool: ToolDescriptor): string {
  const known = tools.get(tool);
  if (known !== undefined) return known;
  const id = contentId(tool.id, tool.description, JSON.stringify(tool.parameters));
  tools.set(tool, id);
  return id;
}

export function toolIdsOf(list: readonly ToolDescriptor[]): readonly string[] {
  const known = lists.get(list);
  if (known !== undefined) return known;
  const ids = list.map(toolIdOf);
  lists.set(list, ids);
  return ids;
}
