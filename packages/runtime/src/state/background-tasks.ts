import { type BackgroundTaskState, backgroundTasksSchema, type TaskRecord } from "@awaken/contract";
import { defineRuntimeState } from "./key.ts";

/** How many that are over stay on record. */
const KEPT = 64;

const NUMBER = /^bg_(\d+)$/;

export const taskIdOf = (count: number): string => `bg_${count}`;

/** No id is given twice, also if that task is not on record. */
const nextAfter = ({ next }: BackgroundTaskState, taskId: string): number => Math.max(next, Number(NUMBER.exec(taskId)?.[1] ?? -1) + 1);

const RESERVED: ReadonlySet<string> = new Set(["parent", "self", "all", "broadcast"]);

/** No task is called so. */
export const isReservedName = (name: string): boolean => RESERVED.has(name);

export const isRunning = ({ status }: TaskRecord): boolean => status === "running";

function trimmed(tasks: readonly TaskRecord[]): readonly TaskRecord[] {
  let over = tasks.filter((task) => !isRunning(task)).length - KEPT;
  return over <= 0 ? tasks : tasks.filter((task) => isRunning(task) || over-- <= 0);
}

function withTask(value: BackgroundTaskState, task: TaskRecord): BackgroundTaskState {
  const { tasks } = value;
  const place = tasks.findIndex(({ taskId }) => taskId === task.taskId);
  const known = tasks[place];
  // What is over stays as it is.
  if (known !== undefined && !isRunning(known)) return value;
  return {
    next: nextAfter(value, task.taskId),
    tasks: trimmed(known === undefined ? [...tasks, task] : tasks.with(place, task)),
  };
}

export type BackgroundTaskUpdate =
  | { readonly type: "set"; readonly task: TaskRecord }
  | { readonly type: "remove"; readonly taskId: string };

/** Work in the background of the thread: what is running, and what became of the rest. */
export const backgroundTasks = defineRuntimeState("background_tasks", {
  scope: "thread",
  merge: "commutative",
  schema: backgroundTasksSchema,
  initial: (): BackgroundTaskState => ({ next: 0, tasks: [] }),
  apply: (value, update: BackgroundTaskUpdate): BackgroundTaskState =>
    update.type === "set"
      ? withTask(value, update.task)
      : { next: nextAfter(value, update.taskId), tasks: value.tasks.filter(({ taskId }) => taskId !== update.taskId) },
});
