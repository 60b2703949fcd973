import { isJsonObject } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import { CANCEL_TASK_TOOL } from "../../registry/agent-tool-ids.ts";
import { defineTool } from "../../tool/define-tool.ts";
import type { TaskSummary, Tasks } from "../../tool/tasks.ts";
import type { Tool } from "../../tool/tool.ts";

type Target = { readonly relation: "self" } | { readonly relation: "child"; readonly name: string };

const PARAMETERS = {
  type: "object",
  properties: {
    target: {
      oneOf: [
        { type: "object", properties: { relation: { const: "self" } }, required: ["relation"] },
        {
          type: "object",
          properties: { relation: { const: "child" }, name: { type: "string", description: "The id or name of a task" } },
          required: ["relation", "name"],
        },
      ],
    },
  },
  required: ["target"],
} as const;

function read(value: unknown): Target | string {
  const target = isJsonObject(value) ? value["target"] : undefined;
  if (target === undefined) return "missing 'target'";
  const { relation, name } = isJsonObject(target) ? target : {};
  if (relation === "self") return { relation };
  if (relation === "child") return typeof name === "string" ? { relation, name } : "child requires 'name'";
  return typeof relation === "string" ? `unknown relation '${relation}'` : "missing 'target.relation'";
}

const input = s.custom<unknown>(
  (value) => typeof read(value) !== "string",
  (value) => {
    const target = read(value);
    return s.message(typeof target === "string" ? target : "");
  },
  PARAMETERS,
);

const receipt = (rootTaskId: string, count: number) =>
  count === 0
    ? { status: "failed", root_task_id: rootTaskId, cancelled_count: 0, error: "task_not_found" }
    : { status: "accepted", root_task_id: rootTaskId, cancelled_count: count };

const findChild = (tasks: Tasks, name: string): TaskSummary | undefined => {
  const running = tasks.list().filter(({ status, parent }) => status === "running" && parent.taskId === undefined);
  return running.find(({ taskId }) => taskId === name) ?? running.find((task) => task.name === name);
};

/** Lets a model stop what it has started in the background, or itself with all of it. */
export const cancelTaskTool: Tool = defineTool({
  id: CANCEL_TASK_TOOL,
  description: "Stops a task that you have started in the background, with all that it started; or yourself, with all of them.",
  input,
  idempotent: true,
  kind: "other",
  execute(given, { tasks, identity }) {
    const target = read(given);
    if (typeof target === "string") throw new TypeError(target);
    if (target.relation === "child") {
      const child = findChild(tasks, target.name);
      return child === undefined ? receipt(target.name, 0) : receipt(child.taskId, tasks.cancelTree(child.taskId));
    }
    return receipt(identity.taskId ?? identity.runId, tasks.cancelRun());
  },
});
