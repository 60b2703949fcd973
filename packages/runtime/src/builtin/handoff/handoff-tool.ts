import * as s from "@awaken/contract/schema";
import { type AgentSpec, displayDescription } from "@awaken/contract/spec";
import { command } from "../../phase/command.ts";
import { HANDOFF_TOOL } from "../../registry/agent-tool-ids.ts";
import { activeAgent } from "../../state/active-agent.ts";
import { defineTool } from "../../tool/define-tool.ts";
import { reply } from "../../tool/plain-reply.ts";
import type { Tool } from "../../tool/tool.ts";

const line = (agent: AgentSpec): string => `- ${agent.id}: ${displayDescription(agent)}`;

/** Hands the run over to one of these agents, and to no other. It takes effect before the next step. */
export function handoffTool(targets: readonly AgentSpec[]): Tool {
  return defineTool({
    id: HANDOFF_TOOL,
    description: `Hands this conversation over to another agent, which goes on with it instead of you. Agents:\n${targets.map(line).join("\n")}`,
    input: s.strictObject({ agent: s.enum(targets.map(({ id }) => id)) }),
    // It changes the state of the thread and nothing outside.
    pure: true,
    execute: ({ agent }) => reply({ agent }, { message: `'${agent}' goes on from here.`, command: command().update(activeAgent, agent) }),
  });
}
