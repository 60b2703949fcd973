import { backgroundTasksSchema, type PersistedState, type TaskEvent, type TaskRecord, validateSync } from "@awaken/contract";
import { backgroundTasks } from "./background-tasks.ts";

/** The tasks of a thread, from its record. */
export function storedTasks(state: PersistedState | undefined): readonly TaskRecord[] {
  const value = state?.extensions[backgroundTasks.name];
  if (value === undefined) return [];
  const stored = validateSync(backgroundTasksSchema, value);
  return stored.type === "valid" ? stored.value.tasks : [];
}

/** The end of a task whose code was gone with its process. */
export const lostTask = (taskId: string): TaskEvent => ({
  kind: "failed",
  taskId,
  error: "task orphaned: runtime restarted while running",
});

/** The task as its last news leave it; undefined when they are not the last. */
export function settledBy(task: TaskRecord, event: TaskEvent, completedAt: number): TaskRecord | undefined {
  switch (event.kind) {
    case "custom":
      return undefined;
    case "completed":
      return { ...task, status: "completed", result: event.result, completedAt };
    case "failed":
      return { ...task, status: "failed", error: event.error, completedAt };
    case "cancelled":
      return { ...task, status: "cancelled", completedAt };
  }
}
