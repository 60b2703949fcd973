import * as s from "@awaken/contract/schema";
import { command } from "../../phase/command.ts";
import { activeAgent } from "../../state/active-agent.ts";
import { reply } from "../../tool/reply.ts";
import type { ToolWork } from "../late-tool.ts";

export const handoffWork = (ids: readonly string[]): ToolWork<{ readonly agent: string }> => ({
  input: s.strictObject({ agent: s.enum(ids) }),
  execute: ({ agent }) => reply({ agent }, { message: `'${agent}' goes on from here.`, command: command().update(activeAgent, agent) }),
});
