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
  messages.filter((message, at) => {
    const taskId = endIn(message);
    const isSame = (other: Message) => endIn(other) === taskId && !isOtherEnd(message, other);
    return taskId === undefined || !(told.some(isSame) || messages.slice(0, at).some(isSame));
  });

/** What news of background work say of it is on record together with them. */
export function readNews({ state, tasks }: RunContext, messages: readonly Message[]): void {
  const known = () => state.get(backgroundTasks)?.tasks ?? [];
  const isKnown = (taskId: string) => known().some((task) => task.taskId === taskId);
  for (const { id, metadata } of messages) {
    if (metadata?.task === undefined) continue;
    const { taskId, kind } = metadata.task;
    // A run is the task that has it, also where attempts of one call have put it on record under two ids: it knows one of them.
    const own = id.startsWith(END) ? known().filter(({ childRunId }) => id === END + childRunId) : [];
    for (const task of own) tasks.read({ ...metadata.task, taskId: task.taskId });
    // Else it ended before its task was on record, and its id was given to another one meanwhile.
    if (own.length > 0 || (id.startsWith(END) && isKnown(taskId))) continue;
    tasks.read(metadata.task);
    // The same, and its id is not given to another one.
    if (kind !== "custom" && !isKnown(taskId)) state.commit(command().update(backgroundTasks, removeTask(taskId)));
  }
}
