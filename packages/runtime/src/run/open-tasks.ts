import { OpenTasks } from "../builtin/background/open-tasks.ts";
import type { TaskScene } from "../loop/run-tasks.ts";
import type { RunInit } from "./run-parts.ts";
import { BackgroundRuns } from "./task-runs.ts";

export function openTasks({ ofRuntime, run, resolution, start }: RunInit, scene: TaskScene): OpenTasks {
  const { tasks: tenant, ids, log, messages } = ofRuntime;
  const runs = new BackgroundRuns(ofRuntime, resolution, start);
  return new OpenTasks({ tenant, runs, ids, log, messages, scene, cancelRun: () => run.cancelItself() });
}
