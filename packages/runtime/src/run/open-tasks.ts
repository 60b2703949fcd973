import { OpenTasks } from "../builtin/background/open-tasks.ts";
import type { TasksInit } from "./run-parts.ts";
import { BackgroundRuns } from "./task-runs.ts";

export function openTasks({ parts, resolution, start, scene, cancelRun }: TasksInit): OpenTasks {
  const { tasks: tenant, ids, log, messages } = parts;
  return new OpenTasks({ tenant, runs: new BackgroundRuns(parts, resolution, start), ids, log, messages, scene, cancelRun });
}
