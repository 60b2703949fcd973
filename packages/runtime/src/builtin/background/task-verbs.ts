import {
  AwakenError,
  type ChildRun,
  type JsonObject,
  type RunId,
  type RunIdentity,
  type TaskEvent,
  type TaskParent,
  type TaskRecord,
  threadId,
} from "@awaken/contract";
import { isReservedName, isRunning } from "../../state/background-tasks.ts";
import { settledBy } from "../../state/task-records.ts";
import { Queue } from "../../stream/queue.ts";
import { whenReady } from "../../stream/queue-ready.ts";
import type {
  AgentTaskContext,
  SpawnAgentOptions,
  SpawnOptions,
  TaskBody,
  TaskContext,
  TaskInbox,
  TaskSummary,
  Tasks,
} from "../../tool/tasks.ts";
import type { TaskRuns } from "./task-runs.ts";
import type { TenantTasks } from "./task-table.ts";
import { below } from "./task-tree.ts";
import { isCancelled, isElsewhere } from "./tenant-work.ts";
import type { BodyScene, ThreadTasks } from "./thread-tasks.ts";

export interface TaskVerbsInit {
  readonly tenant: TenantTasks;
  readonly runs: TaskRuns;
  readonly identity: RunIdentity;
  readonly principal: JsonObject | undefined;
  /** Of the call; the same for each attempt. */
  readonly key: string;
  readonly traceParent: string | undefined;
  readonly thread: () => ThreadTasks;
  readonly parent: TaskParent;
  begun(child: ChildRun): void;
  cancelRun(): void;
}

/** Without what only the record needs. */
function summaryOf(record: TaskRecord): TaskSummary {
  const { ownerThreadId: _owner, childRunId: _run, host: _host, ...summary } = record;
  return summary;
}

/** What is said of a task before it is one. */
interface About extends Pick<TaskRecord, "taskType" | "description"> {
  readonly name: string | undefined;
  /** Absent for code. */
  readonly childRunId?: RunId;
}

const refused = (reason: string, message: string): AwakenError => new AwakenError("task_refused", message, { details: { reason } });

/** Why a task cannot be written to. */
export type Unreachable = "not-found" | "not-owner" | "over" | "no-inbox" | "closed";

const unreachable = (reason: Unreachable, message: string): AwakenError =>
  new AwakenError("task_unreachable", message, { details: { reason } });

function inboxOf(queue: Queue<TaskEvent>): TaskInbox {
  const waiting: TaskEvent[] = [];
  const take = () => {
    waiting.push(...queue.drain());
    return waiting.shift();
  };
  return {
    drain: () => [...waiting.splice(0), ...queue.drain()],
    async receive(signal) {
      for (;;) {
        const next = take();
        if (next !== undefined || queue.isClosed || signal?.aborted === true) return next;
        await whenReady(queue, signal);
      }
    },
  };
}

const messageEvent = (taskId: string, from: string, content: string): TaskEvent => ({
  kind: "custom",
  taskId,
  eventType: "agent_message",
  payload: { from, content },
});

/** What the code of one call, or of one task, starts and asks with. */
export class TaskVerbs implements Tasks {
  readonly #init: TaskVerbsInit;
  readonly #asked = new Map<string, number>();

  constructor(init: TaskVerbsInit) {
    this.#init = init;
  }

  async spawn({ type = "task", name, description = name ?? type }: SpawnOptions, body: TaskBody): Promise<string> {
    const record = this.#add({ taskType: type, name, description });
    this.#init.thread().start(record, undefined, async (scene) => body(this.#contextOf(scene)));
    return record.taskId;
  }

  async spawnAgent(options: SpawnAgentOptions): Promise<string> {
    const { name } = options;
    if (!("body" in options)) return this.#spawnRun(options);
    const { body, description = name ?? "sub_agent" } = options;
    const record = this.#add({ taskType: "sub_agent", name, description });
    const inbox = new Queue<TaskEvent>();
    this.#init.thread().start(record, inbox, async (scene) => {
      const context: AgentTaskContext = { ...this.#contextOf(scene), inbox: inboxOf(inbox) };
      return body(context);
    });
    return record.taskId;
  }

  get(taskId: string): TaskSummary | undefined {
    const record = this.#init.thread().find(taskId);
    return record === undefined ? undefined : summaryOf(record);
  }

  list(): readonly TaskSummary[] {
    return this.#init.thread().records.map(summaryOf);
  }

  cancel(taskId: string): boolean {
    const record = this.#init.thread().find(taskId);
    return record !== undefined && this.#cancelAll([record]) === 1;
  }

  cancelTree(taskId: string): number {
    return this.#cancelAll(below(this.#init.thread().records, taskId));
  }

  cancelAll(): number {
    return this.#cancelAll(this.#init.thread().records);
  }

  cancelRun(): number {
    const count = this.cancelAll();
    this.#init.cancelRun();
    return count + 1;
  }

  async send(taskId: string, content: string): Promise<void> {
    const { tenant, runs, thread, parent, identity } = this.#init;
    const record = thread().find(taskId);
    if (record === undefined) {
      const isOfOther = isElsewhere(tenant, taskId);
      throw isOfOther ? unreachable("not-owner", "caller does not own this task") : unreachable("not-found", "task not found");
    }
    if (!isRunning(record)) throw unreachable("over", `task already ${record.status}`);
    const event = messageEvent(taskId, parent.agentId ?? identity.agentId, content);
    if (record.childRunId !== undefined) {
      if (!(await runs.send(record.childRunId, event))) throw unreachable("closed", "sub-agent inbox closed");
      return;
    }
    const inbox = thread().inboxOf(taskId);
    if (inbox === undefined) throw unreachable("no-inbox", "task has no inbox (not a sub-agent)");
    if (!inbox.push(event)) throw unreachable("closed", "sub-agent inbox closed");
  }

  async settled(taskId: string): Promise<TaskSummary> {
    const { thread, runs, tenant } = this.#init;
    const record = thread().find(taskId);
    if (record === undefined) throw unreachable("not-found", "task not found");
    if (!isRunning(record)) return summaryOf(record);
    const code = thread().over(taskId);
    if (code !== undefined) return summaryOf(await code);
    if (record.childRunId === undefined) throw unreachable("closed", "the task runs in another process");
    const event = await runs.ended(record.childRunId);
    return summaryOf(settledBy(record, event, tenant.table.init.clock.now()) ?? record);
  }

  #contextOf({ taskId, signal, emit }: BodyScene): TaskContext {
    const init = this.#init;
    const parent = { ...init.parent, taskId };
    return { taskId, signal, emit, tasks: new TaskVerbs({ ...init, key: JSON.stringify([init.key, taskId]), parent }) };
  }

  /** Checked and on record, or refused and nowhere. */
  #add(about: About): TaskRecord {
    const { tenant, parent, thread } = this.#init;
    const { name } = about;
    if (name !== undefined && isReservedName(name)) throw refused("reserved-name", `'${name}' is a reserved name`);
    const { runId } = parent;
    if (runId !== undefined && isCancelled(tenant, runId))
      throw refused("run-cancelled", `parent run '${runId}' has already been cancelled`);
    const running = thread().records.filter(isRunning);
    if (name !== undefined && running.some((task) => task.name === name))
      throw refused("name-taken", `a running task named '${name}' already exists`);
    if (running.length >= tenant.table.init.maxRunning) throw refused("too-many", "too many running background tasks");
    return thread().add((taskId) => this.#recordOf(taskId, about));
  }

  #recordOf(taskId: string, { name, childRunId, taskType, description }: About): TaskRecord {
    const { tenant, identity, parent } = this.#init;
    const { host, clock } = tenant.table.init;
    return {
      taskId,
      ownerThreadId: identity.threadId,
      taskType,
      ...(name === undefined ? undefined : { name }),
      description,
      status: "running",
      createdAt: clock.now(),
      parent,
      ...(childRunId === undefined ? { host } : { childRunId }),
    };
  }

  async #spawnRun(options: Extract<SpawnAgentOptions, { agent: string }>): Promise<string> {
    const { runs, identity, thread, principal, traceParent, tenant } = this.#init;
    const { agent: agentId, input, name, description = input } = options;
    runs.check(agentId, identity);
    const childRunId = runs.idOf(this.#keyOf(options));
    const before = await runs.fate(childRunId);
    const about = { taskType: "sub_agent", name, description, childRunId };
    if (before !== undefined && before.type !== "lost") {
      thread().put(this.#recordOf(before.taskId, about));
      return before.taskId;
    }
    const record = this.#add(about);
    const { taskId } = record;
    try {
      await runs.start({ agentId, input, taskId, runId: childRunId, parent: identity, principal, traceParent });
    } catch (thrown) {
      thread().remove(taskId);
      throw thrown;
    }
    const agentPath = [...(identity.agentPath ?? [identity.agentId]), agentId];
    this.#init.begun({ runId: childRunId, threadId: threadId(childRunId), agentId, agentPath });
    // Cancelled meanwhile: whoever cancelled may not have seen it.
    if (isCancelled(tenant, identity.runId)) await runs.cancel([childRunId]);
    return taskId;
  }

  /** One call may start the same agent with the same words more than once; every attempt of the call does so in the same order. */
  #keyOf({ agent, input, name }: Extract<SpawnAgentOptions, { agent: string }>): string {
    const about = JSON.stringify([agent, input, name ?? null]);
    const times = this.#asked.get(about) ?? 0;
    this.#asked.set(about, times + 1);
    return JSON.stringify(["task", this.#init.key, about, times]);
  }

  #cancelAll(records: readonly TaskRecord[]): number {
    const { thread, runs } = this.#init;
    const agents = records.filter(isRunning).flatMap(({ childRunId }) => childRunId ?? []);
    if (agents.length > 0) void runs.cancel(agents);
    const code = records.filter(({ taskId }) => thread().cancel(taskId, "the task was cancelled"));
    return agents.length + code.length;
  }
}
