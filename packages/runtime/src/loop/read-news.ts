import type { Message } from "@awaken/contract";
import { command } from "../phase/command.ts";
import { backgroundTasks } from "../state/background-tasks.ts";
import { removeTask } from "../state/task-changes.ts";
import type { RunContext } from "./run-context.ts";
import { endIn } from "./task-message.ts";

/** How the run that an agent in the background was names the news of its end. */
const END = "task-end:";

/** Two runs have two ends, also where both were called by the same id. */
const isOtherEnd = (one: Message, other: Message): boolean => one.id !== other.id && one.id.startsWith(END) && other.id.startsWith(END);

/** Those that tell no end which is told already: what was thought to be lost may be told by its process too. */
export const untold = (messages: readonly Message[], told: readonly Message[]): readonly Message[] =>
  messages.filter((message) => {
    const taskId = endIn(message);
    return taskId === undefined || !told.some((other) => endIn(other) === taskId && !isOtherEnd(message, other));
  });

/** What news of background work say of it is on record together with them. */
export function readNews({ state, tasks }: RunContext, messages: readonly Message[]): void {
  const find = (taskId: string) => state.get(backgroundTasks)?.tasks.find((task) => task.taskId === taskId);
  for (const { id, metadata } of messages) {
    if (metadata?.task === undefined) continue;
    const { taskId, kind } = metadata.task;
    const task = find(taskId);
    // Of a run that ended before its task was on record; its id was given to another one meanwhile.
    if (id.startsWith(END) && task !== undefined && id !== END + task.childRunId) continue;
    tasks.read(metadata.task);
    // The same, and its id is not given to another one.
    if (kind !== "custom" && find(taskId) === undefined) state.commit(command().update(backgroundTasks, removeTask(taskId)));
  }
}
