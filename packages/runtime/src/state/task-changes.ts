import type { BackgroundTaskState, TaskRecord } from "@awaken/contract";
import { type BackgroundTaskUpdate, isRunning } from "./background-tasks.ts";

/** How many that are over stay on record. */
const KEPT = 64;

const NUMBER = /^bg_(\d+)$/;

/** No id is given twice, also if that task is not on record. */
const nextAfter = ({ next }: BackgroundTaskState, taskId: string): number => Math.max(next, Number(NUMBER.exec(taskId)?.[1] ?? -1) + 1);

function trimmed(tasks: readonly TaskRecord[]): readonly TaskRecord[] {
  let over = tasks.filter((task) => !isRunning(task)).length - KEPT;
  return over <= 0 ? tasks : tasks.filter((task) => isRunning(task) || over-- <= 0);
}

export const setTask =
  (task: TaskRecord): BackgroundTaskUpdate =>
  (value) => {
    const { tasks } = value;
    const place = tasks.findIndex(({ taskId }) => taskId === task.taskId);
    const known = tasks[place];
    // What is over stays as it is.
    if (known !== undefined && !isRunning(known)) return value;
    return {
      next: nextAfter(value, task.taskId),
      tasks: trimmed(known === undefined ? [...tasks, task] : tasks.with(place, task)),
    };
  };

export const removeTask =
  (taskId: string): BackgroundTaskUpdate =>
  (value) => ({ next: nextAfter(value, taskId), tasks: value.tasks.filter((task) => task.taskId !== taskId) });
