import type { JsonValue, TaskEvent, TaskParent, TaskStatus } from "@awaken/contract";

/** A task as tool code and models see it. */
export interface TaskSummary {
  /** `bg_0`, `bg_1` and so on, unique on its thread. */
  readonly taskId: string;
  /** As whoever started it calls it; `sub_agent` for an agent. */
  readonly taskType: string;
  /** What it can be called by while it runs. */
  readonly name?: string;
  /** What it is for. */
  readonly description: string;
  /** It never changes once it is not `running`. */
  readonly status: TaskStatus;
  /** Why it failed. */
  readonly error?: string;
  /** What it came to. */
  readonly result?: JsonValue;
  /** When it was started, in ms since 1970. */
  readonly createdAt: number;
  /** When it was over, in ms since 1970. */
  readonly completedAt?: number;
  /** What started it. */
  readonly parent: TaskParent;
}

/** What a task hears from those who write to it. */
export interface TaskInbox {
  /** The next one; undefined when the signal aborts, or nothing comes any more. */
  receive(signal?: AbortSignal): Promise<TaskEvent | undefined>;
  /** All that are there. */
  drain(): readonly TaskEvent[];
}

/** What the code of a task works with. */
export interface TaskContext {
  /** Its own id. */
  readonly taskId: string;
  /** Aborted when it is to stop. Throw its reason, and the task is cancelled. */
  readonly signal: AbortSignal;
  /** Tells the owner's thread something. False when it cannot be told any more. */
  emit(eventType: string, payload: JsonValue): boolean;
  /** Starts more, below this one. */
  readonly tasks: Tasks;
}

/** The same for one that can be written to. */
export interface AgentTaskContext extends TaskContext {
  /** What was written to it. */
  readonly inbox: TaskInbox;
}

/** What a task comes to: what it gives, as JSON, is its result; what it throws its failure. */
export type TaskBody<C = TaskContext> = (task: C) => Promise<unknown>;

export interface SpawnOptions {
  /** What kind of work it is. Default `task`. */
  readonly type?: string;
  /** To call it by while it runs; unique among the running ones of its thread. */
  readonly name?: string;
  /** What it is for, for the model. Default: its name or type. */
  readonly description?: string;
}

interface AgentTaskNames {
  /** To call it by while it runs; unique among the running ones of its thread. */
  readonly name?: string;
  /** What it is for, for the model. Default: what it is asked. */
  readonly description?: string;
}

/** An agent to be run in the background, or code that is one: it can be written to. */
export type SpawnAgentOptions = AgentTaskNames &
  (
    | {
        /** Its id in the registry. */
        readonly agent: string;
        /** What it is asked. It sees nothing else of the conversation. */
        readonly input: string;
      }
    | {
        /** The code. */
        readonly body: TaskBody<AgentTaskContext>;
      }
  );

/**
 * Work in the background of the thread of a run. It goes on when its run is over, unless that is cancelled; what becomes of it is read by
 * the run that is at work on the thread then. Code ends with its process; an agent is a run of its own and goes on wherever there is a store.
 * Its verbs are called on it: `tasks.spawn(…)`.
 */
export interface Tasks {
  /** Starts code; gives the id of the task. `task_refused` when it may not be. */
  spawn(options: SpawnOptions, body: TaskBody): Promise<string>;
  /** Starts an agent; gives the id of the task. Another attempt of the same call finds the one that the first started. */
  spawnAgent(options: SpawnAgentOptions): Promise<string>;
  /** As it stands on the thread's record. */
  get(taskId: string): TaskSummary | undefined;
  /** Those of the thread, the oldest first. */
  list(): readonly TaskSummary[];
  /** Tells it to stop; it is over when it has noticed. False when there is none that runs. */
  cancel(taskId: string): boolean;
  /** The same for it and all that it started, on this thread; gives how many were told. */
  cancelTree(taskId: string): number;
  /** The same for all of the thread. */
  cancelAll(): number;
  /** Stops the run itself, with all that it has started on this thread; gives how many were told. */
  cancelRun(): number;
  /** Writes to an agent that runs. `task_unreachable` when it cannot be. */
  send(taskId: string, content: string): Promise<void>;
  /** Resolves when it is over. */
  settled(taskId: string): Promise<TaskSummary>;
}
