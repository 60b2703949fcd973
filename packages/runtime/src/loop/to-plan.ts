import type { Backend, ToolDescriptor } from "@awaken/contract";
import { failedActions, pendingActions } from "../phase/action-queue.ts";
import { activeAgent } from "../state/active-agent.ts";
import { backgroundTasks } from "../state/background-tasks.ts";
import type { AnyStateKey } from "../state/key.ts";
import { failedMessages, messageOutbox } from "../state/message-outbox.ts";
import { pastTickets } from "../state/past-tickets.ts";
import { pendingWork } from "../state/pending-work.ts";
import { backendOutput, remoteBackend } from "../state/remote-backend.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { slotTable } from "../state/snapshot.ts";
import { toolCallStates } from "../state/tool-call-states.ts";
import { outputRetries } from "./output.ts";
import type { RunPlan } from "./run-plan.ts";

const LOOP_KEYS: readonly AnyStateKey[] = [
  runLifecycle,
  toolCallStates,
  pastTickets,
  activeAgent,
  pendingWork,
  backgroundTasks,
  messageOutbox,
  failedMessages,
  outputRetries,
  pendingActions,
  failedActions,
  remoteBackend,
  backendOutput,
];

export const describeTools = (tools: RunPlan["tools"]): readonly ToolDescriptor[] =>
  Object.freeze([...tools.values()].map((tool) => tool.descriptor).sort((a, b) => (a.id < b.id ? -1 : 1)));

export const listIds = (tools: readonly ToolDescriptor[]): readonly string[] => Object.freeze(tools.map((tool) => tool.id));

/** What all runs of a plan share is made with it. */
export function toPlan(parts: Omit<RunPlan, "descriptors" | "toolIds" | "slots" | "backend">, backend?: Backend): RunPlan {
  const descriptors = describeTools(parts.tools);
  const slots = slotTable([...LOOP_KEYS, ...parts.env.stateKeys]);
  return Object.freeze({ ...parts, backend, descriptors, toolIds: listIds(descriptors), slots });
}
