/** What a delegate is called as a tool. */
export const delegateToolId = (agentId: string): string => `agent_run_${agentId}`;

/** What hands a run over to another agent. */
export const HANDOFF_TOOL = "handoff";
