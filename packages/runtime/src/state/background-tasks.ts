import type { BackgroundTaskState, TaskRecord } from "@awaken/contract";
import { defineRuntimeState } from "./key.ts";
import { lateSchema } from "./late-schema.ts";

export const taskIdOf = (count: number): string => `bg_${count}`;

const RESERVED: ReadonlySet<string> = new Set(["parent", "self", "all", "broadcast"]);

/** No task is called so. */
export const isReservedName = (name: string): boolean => RESERVED.has(name);

export const isRunning = ({ status }: TaskRecord): boolean => status === "running";

/** The change itself: whoever makes one has loaded what knows how, `task-changes.ts`. */
export type BackgroundTaskUpdate = (value: BackgroundTaskState) => BackgroundTaskState;

/** Work in the background of the thread: what is running, and what became of the rest. */
export const backgroundTasks = defineRuntimeState("background_tasks", {
  scope: "thread",
  merge: "commutative",
  schema: lateSchema((room) => room.backgroundTasksSchema),
  initial: (): BackgroundTaskState => ({ next: 0, tasks: [] }),
  apply: (value, change: BackgroundTaskUpdate): BackgroundTaskState => change(value),
});
