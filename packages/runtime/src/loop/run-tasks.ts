import type { AgentEvent, JsonObject, Message, RunId, RunIdentity, TaskEvent } from "@awaken/contract";
import type { InboxItem } from "../plugin/inbox.ts";
import type { RunState } from "../state/run-state.ts";
import type { Late } from "../stream/door.ts";
import type { Queue } from "../stream/queue.ts";
import type { SendMessage } from "../tool/messages.ts";
import type { Tasks } from "../tool/tasks.ts";

/** A call that starts tasks. */
export interface TaskCaller {
  readonly callId: string;
  readonly agentId: string;
  /** The same for every attempt of the call. */
  readonly key: string;
  readonly traceParent: string | undefined;
}

/** The run, as its tasks know it. */
export interface TaskScene {
  readonly identity: RunIdentity;
  readonly principal: JsonObject | undefined;
  readonly state: RunState;
  readonly inbox: Queue<InboxItem>;
  readonly signal: AbortSignal;
  tell(event: AgentEvent): void;
  emit(event: AgentEvent): void;
}

/** What one call starts tasks with, and speaks to other agents. */
export interface CallVerbs {
  readonly tasks: Tasks;
  readonly sendMessage: SendMessage;
}

/** Work in the background of the run's thread. Handed down: what it is done by stands above the loop. */
export interface RunTasks {
  /** The thread has tasks on record, or news of some. Most threads have none. */
  readonly hasAny: boolean;
  /** Something will still have news for the thread. */
  readonly hasRunning: boolean;
  /** Where there are any: before anything is read. What it takes may have to be loaded first. */
  ready(): Late<unknown>;
  /** From here on news come into the run's inbox. Gives what came before, and what is known of tasks that nobody executes any more. */
  open(): Promise<readonly Message[]>;
  /** The run reads it: what it says of its task is so from here on. */
  read(event: TaskEvent): void;
  /** The run that a task is, if it is one. */
  childOf(taskId: string): RunId | undefined;
  /** What the tools of a call start tasks with. */
  forCall(caller: TaskCaller): CallVerbs;
  /** Messages of its agents to others are on record, and not delivered. */
  readonly hasOutbox: boolean;
  /** Delivers them. Never rejects: what could not be delivered stays on record. */
  deliver(): Promise<void>;
  /** Tells all that the run has started to stop, and lets it start nothing more. Never rejects. */
  cancel(): Promise<void>;
}
