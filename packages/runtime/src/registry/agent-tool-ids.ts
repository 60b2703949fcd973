/** What a delegate is called as a tool. Vendors take letters, digits, `_` and `-` alone. */
export const delegateToolId = (agentId: string): string => `agent_run_${agentId.replaceAll(/[^\w-]/g, "_")}`;

/** What hands a run over to another agent. */
export const HANDOFF_TOOL = "handoff";

/** What agents speak to each other with, and look after what they have started. An agent has those that its `tools` name. */
export const SEND_MESSAGE_TOOL = "send_message";
export const CANCEL_TASK_TOOL = "cancel_task";
export const RECOVER_TOOL = "recover_failed_messages";

export const NAMED_TOOLS: ReadonlySet<string> = new Set([SEND_MESSAGE_TOOL, CANCEL_TASK_TOOL, RECOVER_TOOL]);
