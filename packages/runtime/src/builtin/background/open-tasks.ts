import {
  type JsonValue,
  type Log,
  type Message,
  messageId,
  type RunId,
  type TaskEvent,
  type TaskRecord,
  type TaskStatus,
} from "@awaken/contract";
import type { AgentMessageRequest, MessageSink } from "../../loop/message-sink.ts";
import type { CallVerbs, RunTasks, TaskCaller, TaskScene } from "../../loop/run-tasks.ts";
import { taskMessage } from "../../loop/task-message.ts";
import { backgroundTasks, isRunning } from "../../state/background-tasks.ts";
import { lostTask } from "../../state/task-records.ts";
import { onAbort } from "../../stream/abort.ts";
import { derivedId } from "../../stream/derived-id.ts";
import type { Ids } from "../../stream/ids.ts";
import type { Tasks } from "../../tool/tasks.ts";
import { deliverOutbox, queueMessage } from "../messages/outbox.ts";
import { sendMessage } from "../messages/send.ts";
import type { TaskRuns } from "./task-runs.ts";
import type { TenantTasks } from "./task-table.ts";
import { TaskVerbs } from "./task-verbs.ts";
import { isLost, openThread, rememberCancelled } from "./tenant-work.ts";
import type { Seat, ThreadTasks } from "./thread-tasks.ts";

export interface OpenTasksInit {
  readonly tenant: TenantTasks;
  readonly runs: TaskRuns;
  readonly ids: Ids;
  readonly scene: TaskScene;
  readonly log: Log;
  /** How messages reach other threads. */
  readonly messages: MessagePort;
  /** Stops the run. */
  cancelRun(): void;
}

/** How messages of agents travel to other threads. */
export interface MessagePort {
  readonly sink: MessageSink;
  /** `outbox`: after the commit that has them on record. `direct`: during the call. */
  readonly delivery: "outbox" | "direct";
}

/** For whoever watches. */
const shownAs = ({ taskId, taskType, name, description, status, childRunId }: TaskRecord): { readonly [key: string]: JsonValue } => ({
  taskId,
  taskType,
  ...(name === undefined ? {} : { name }),
  description,
  status: status satisfies TaskStatus,
  ...(childRunId === undefined ? {} : { runId: childRunId }),
});

/** Background work of the thread of one run, while that is at work. */
export class OpenTasks implements Omit<RunTasks, "ready" | "hasAny" | "hasRunning" | "hasOutbox"> {
  readonly #init: OpenTasksInit;
  readonly #seat: Seat;
  #off: (() => void) | undefined;

  constructor(init: OpenTasksInit) {
    this.#init = init;
    const { scene } = init;
    const { state, inbox } = scene;
    this.#seat = {
      state,
      inbox,
      show: (task) =>
        scene.tell({
          type: "activity-snapshot",
          messageId: `task:${task.taskId}`,
          activityType: "background-task",
          content: shownAs(task),
          replace: true,
        }),
    };
  }

  async open(): Promise<readonly Message[]> {
    const thread = this.#sit();
    const { ids, scene } = this.#init;
    const unread = thread.takeUnread();
    const over = new Set(unread.flatMap((item) => (item.type === "task" && item.event.kind !== "custom" ? item.event.taskId : [])));
    const news = unread.flatMap((item) => (item.type === "task" ? taskMessage(messageId(ids()), item.event) : item.messages));
    for (const task of scene.state.get(backgroundTasks)?.tasks ?? []) {
      const isKnown = !isRunning(task) || over.has(task.taskId) || thread.isLive(task.taskId);
      const found = isKnown ? undefined : await this.#lookUp(task);
      if (found !== undefined) news.push(found);
    }
    return news;
  }

  read(event: TaskEvent): void {
    this.#sit().read(event);
  }

  childOf(taskId: string): RunId | undefined {
    return this.#known?.find(taskId)?.childRunId;
  }

  forCall({ callId, agentId, key, traceParent }: TaskCaller): CallVerbs {
    const { tenant, runs, scene, messages, cancelRun } = this.#init;
    const { identity, principal, state } = scene;
    const tasks: Tasks = new TaskVerbs({
      ...{ tenant, runs, identity, principal, key, traceParent },
      thread: () => this.#sit(),
      parent: { runId: identity.runId, callId, agentId },
      begun: (child) => scene.emit({ type: "child-start", ...child }),
      cancelRun,
    });
    let count = 0;
    const messageId = () => derivedId(JSON.stringify(["message", tenant.scopeId, key, count++]));
    const delivery =
      messages.delivery === "direct"
        ? ({ type: "direct", sink: messages.sink } as const)
        : ({ type: "outbox", queue: (request: AgentMessageRequest) => queueMessage(state, request) } as const);
    return { tasks, sendMessage: (to, message) => sendMessage({ identity, tasks, agentId, messageId, delivery }, to, message) };
  }

  async deliver(): Promise<void> {
    const { scene, messages, log } = this.#init;
    await deliverOutbox({ state: scene.state, sink: messages.sink, log });
  }

  async cancel(): Promise<void> {
    const { tenant, runs, scene } = this.#init;
    const { runId } = scene.identity;
    rememberCancelled(tenant, runId);
    this.#known?.cancelRun(runId);
    await runs.cancel(await runs.listOpen(runId));
  }

  /** The run is over here. */
  close(): void {
    this.#off?.();
    this.#known?.leave(this.#seat);
  }

  get #known(): ThreadTasks | undefined {
    const { tenant, scene } = this.#init;
    return tenant.find(scene.identity.threadId);
  }

  #sit(): ThreadTasks {
    const { tenant, scene } = this.#init;
    const thread = openThread(tenant, scene.identity.threadId);
    if (this.#off === undefined) {
      thread.sit(this.#seat);
      this.#off = onAbort(scene.signal, () => this.#cancelCode(thread));
    }
    return thread;
  }

  /** What it is up to this process to stop is stopped at once. */
  #cancelCode(thread: ThreadTasks): void {
    const { tenant, scene } = this.#init;
    const { reason } = scene.signal;
    if (reason instanceof Error && "code" in reason && reason.code === "fence_lost") return;
    rememberCancelled(tenant, scene.identity.runId);
    thread.cancelRun(scene.identity.runId);
  }

  /** What became of a task that does not run here; undefined when it may run somewhere. */
  async #lookUp(task: TaskRecord): Promise<Message | undefined> {
    const { tenant, runs, ids } = this.#init;
    const { taskId, childRunId } = task;
    const lost = () => taskMessage(messageId(ids()), lostTask(taskId));
    if (childRunId === undefined) return isLost(tenant, task) ? lost() : undefined;
    const fate = await runs.fate(childRunId);
    if (fate === undefined || fate.type === "lost") return lost();
    return fate.type === "over" ? fate.news : undefined;
  }
}
