import { isJsonObject } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import type { TaskSummary, Tasks } from "../../tool/tasks.ts";
import type { ToolWork } from "../late-tool.ts";

type Target = { readonly relation: "self" } | { readonly relation: "child"; readonly name: string };

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
);

const receipt = (rootTaskId: string, count: number) =>
  count === 0
    ? { status: "failed", root_task_id: rootTaskId, cancelled_count: 0, error: "task_not_found" }
    : { status: "accepted", root_task_id: rootTaskId, cancelled_count: count };

const findChild = (tasks: Tasks, name: string): TaskSummary | undefined => {
  const running = tasks.list().filter(({ status, parent }) => status === "running" && parent.taskId === undefined);
  return running.find(({ taskId }) => taskId === name) ?? running.find((task) => task.name === name);
};

export const cancelTaskWork: ToolWork<unknown> = {
  input,
  execute(given, { tasks, identity }) {
    const target = read(given);
    if (typeof target === "string") throw new TypeError(target);
    if (target.relation === "child") {
      const child = findChild(tasks, target.name);
      return child === undefined ? receipt(target.name, 0) : receipt(child.taskId, tasks.cancelTree(child.taskId));
    }
    return receipt(identity.taskId ?? identity.runId, tasks.cancelRun());
  },
};
