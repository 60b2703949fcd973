import type { TaskRecord } from "@awaken/contract";

/** A task and all that it started, at any depth; none when there is no such task. */
export function below(records: readonly TaskRecord[], taskId: string): readonly TaskRecord[] {
  const found = new Set(records.filter((record) => record.taskId === taskId));
  // A set grows while it is walked, and takes nothing twice: also where two name each other.
  for (const { taskId: parent } of found) for (const record of records) if (record.parent.taskId === parent) found.add(record);
  return [...found];
}
