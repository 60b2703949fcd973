/** What a delegate is called as a tool. Vendors take letters, digits, `_` and `-` alone. */
export const delegateToolId = (agentId: string): string => `agent_run_${agentId.replaceAll(/[^\w-]/g, "_")}`;

/** What hands a run over to another agent. */
export const HANDOFF_TOOL = "handoff";
