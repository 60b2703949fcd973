import type { JsonObject, Message, RunId, RunIdentity, TaskEvent } from "@awaken/contract";

/** An agent to be run in the background of a thread. */
export interface TaskRunOrder {
  readonly agentId: string;
  readonly input: string;
  readonly taskId: string;
  readonly runId: RunId;
  /** Of the run that starts it. */
  readonly parent: RunIdentity;
  readonly principal: JsonObject | undefined;
  readonly traceParent: string | undefined;
}

/** What is known of a run in the background. */
export type TaskFate =
  | { readonly type: "open"; readonly taskId: string }
  /** `news`: undefined when they came to the owner's thread with the commit that ended it, and wait there. */
  | { readonly type: "over"; readonly taskId: string; readonly news: Message | undefined }
  /** Nobody executes it, and nobody will. */
  | { readonly type: "lost" };

/** Agents in the background are runs. Handed down: whoever starts runs stands above. */
export interface TaskRuns {
  /** Throws when it may not be started: there is no such agent, or it stands too deep. */
  check(agentId: string, parent: RunIdentity): void;
  /** The same for every attempt of a call, where runs outlive their process. */
  idOf(key: string): RunId;
  /** Undefined: there is no such run. */
  fate(id: RunId): Promise<TaskFate | undefined>;
  /** It is on record, or under way, when this resolves. */
  start(order: TaskRunOrder): Promise<void>;
  /** Never rejects. */
  cancel(ids: readonly RunId[]): Promise<void>;
  /** Runs in the background that this one started and that are not over. Never rejects. */
  listOpen(parent: RunId): Promise<readonly RunId[]>;
  /** False when it is over, or cannot be reached. */
  send(id: RunId, event: TaskEvent): Promise<boolean>;
  /** Its last news, when there are any. */
  ended(id: RunId): Promise<TaskEvent>;
}
