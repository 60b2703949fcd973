import { OpenTasks } from "../builtin/background/open-tasks.ts";
import type { TaskScene } from "../loop/run-tasks.ts";
import { type Late, whenThere } from "../stream/door.ts";
import type { RunInit } from "./run-parts.ts";
import { seldom } from "./seldom-door.ts";
import { BackgroundRuns } from "./task-runs.ts";

/** With what ends tasks when their run does: a run that could not stop one cannot start one either. */
export function openTasks({ ofRuntime, run, resolution, start }: RunInit, scene: TaskScene): Late<OpenTasks> {
  const { tasks: tenant, ids, log, messages } = ofRuntime;
  return whenThere(seldom.open(), () => {
    const runs = new BackgroundRuns(ofRuntime, resolution, start);
    return new OpenTasks({ tenant, runs, ids, log, messages, scene, cancelRun: () => run.cancelItself() });
  });
}
