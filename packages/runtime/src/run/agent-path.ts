import { AwakenError, type RunIdentity } from "@awaken/contract";

/** The agents of the runs from the first one to this one. */
export const agentPathOf = ({ agentId, agentPath }: RunIdentity): readonly string[] => agentPath ?? [agentId];

/** Each level multiplies what a run costs. */
export function checkDepth(parent: RunIdentity, agentId: string, limit: number): void {
  const path = agentPathOf(parent);
  if (path.length <= limit) return;
  throw new AwakenError("delegation_depth_exceeded", `delegation depth limit exceeded: ${[...path, agentId].join(" > ")}`, {
    details: { agentId, limit },
  });
}
