import { createHash } from "node:crypto";
import { perObject, type ToolDescriptor } from "@awaken/contract";
import type { LocalAgentSpec } from "@awaken/contract/spec";

const SEPARATOR = "\u001f";

/** 12 hex digits that stand for these parts. */
export const contentId = (...parts: readonly string[]): string =>
  createHash("sha256").update(parts.join(SEPARATOR)).digest("hex").slice(0, 12);

/** Specs and descriptors are frozen and shared by all runs of a plan, so each is hashed once. */
export const promptIdOf = perObject((agent: LocalAgentSpec): string => contentId(agent.id, "system", agent.instructions));

const toolIdOf = perObject((tool: ToolDescriptor): string => contentId(tool.id, tool.description, JSON.stringify(tool.parameters)));

export const toolIdsOf = perObject((list: readonly ToolDescriptor[]): readonly string[] => list.map(toolIdOf));
