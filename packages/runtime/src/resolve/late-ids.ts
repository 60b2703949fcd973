import { AwakenError } from "@awaken/contract";
import type { RunPlan } from "../loop/run-plan.ts";
import { isLate } from "../registry/late-ids.ts";
import { findAgent, type RegistrySet } from "../registry/registry-set.ts";

/** Throws when the agent names something of a source that was read, and that source does not have it. */
export function checkLateIds(set: RegistrySet, { agent, tools, env }: RunPlan): void {
  const isLateTool = (id: string): boolean => isLate(id) || env.sources.some(({ source }) => id.startsWith(source.prefix));
  const isMissingAgent = (id: string): boolean => isLate(id) && findAgent(set, id) === undefined;
  const missing = [
    ...(agent.tools ?? []).filter((id) => isLateTool(id) && !tools.has(id)).map((id) => `uses missing tool '${id}'`),
    ...agent.delegates.filter(isMissingAgent).map((id) => `delegates to missing agent '${id}'`),
    ...agent.handoffs.filter(isMissingAgent).map((id) => `hands off to missing agent '${id}'`),
  ];
  if (missing.length === 0) return;
  throw new AwakenError("resolve_failed", `agent '${agent.id}' ${missing.join("; ")}: no source has it`, {
    details: { agentId: agent.id },
  });
}
