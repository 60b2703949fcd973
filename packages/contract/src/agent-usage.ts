import { type AgentUsage, addUsage } from "./usage.ts";

const isSamePath = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && a.every((id, at) => id === b[at]);

/** The parts of a sum: what stands in the same place is one. */
export function addAgentUsage(parts: readonly AgentUsage[], more: readonly AgentUsage[]): readonly AgentUsage[] {
  const sum = [...parts];
  for (const part of more) {
    const at = sum.findIndex(({ agentPath }) => isSamePath(agentPath, part.agentPath));
    const before = sum[at];
    if (before === undefined) sum.push(part);
    else sum[at] = { ...before, runs: before.runs + part.runs, usage: addUsage(before.usage, part.usage) };
  }
  return sum;
}
