import { AwakenError, isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";

/** What is known of the last task of a thread at one agent. */
export interface StoredTask {
  /** Absent when the agent answered without a task. */
  readonly taskId?: string;
  /** What the other side calls the conversation. */
  readonly contextId: string;
  /** As the protocol has it; `DIRECT_MESSAGE` when there was no task. */
  readonly lastState: string;
  /** Tells a wait that was answered from the next one. */
  readonly statusMark: string;
  /** The run that it was for. */
  readonly runId: string;
}

const VERSION = 1;
const TYPE = "a2a";
const KEY = "__runtime.remote_backend";

export const DIRECT_MESSAGE = "DIRECT_MESSAGE";
const INTERRUPTED: ReadonlySet<string> = new Set(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"]);
const UNDER_WAY: ReadonlySet<string> = new Set(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "TASK_STATE_UNSPECIFIED", "UNRECOGNIZED"]);

const corrupt = (why: string): AwakenError =>
  new AwakenError("storage_corrupt", `corrupt A2A persisted remote state at ${KEY}: ${why}`, { details: { key: KEY } });

const isText = (value: JsonValue | undefined): value is string => typeof value === "string" && value !== "";

function readTask(target: string, value: JsonValue): StoredTask {
  if (!isJsonObject(value)) throw corrupt(`'${target}' must be an object`);
  const { taskId, contextId, lastState, statusMark, runId } = value;
  if (!isText(contextId) || !isText(lastState) || !isText(runId)) throw corrupt(`'${target}' must have contextId, lastState and runId`);
  if (typeof statusMark !== "string") throw corrupt(`statusMark of '${target}' must be a string`);
  if (taskId !== undefined && !isText(taskId)) throw corrupt(`taskId of '${target}' must be a string`);
  return { ...(taskId === undefined ? undefined : { taskId }), contextId, lastState, statusMark, runId };
}

type Targets = { readonly [target: string]: JsonValue };

function targetsOf(stored: JsonValue | undefined): Targets {
  if (stored === undefined) return {};
  if (!isJsonObject(stored)) throw corrupt("it must be an object");
  // Another backend worked on the thread, and what it kept is its own.
  if (isText(stored["type"]) && stored["type"] !== TYPE) return {};
  if (stored["type"] !== TYPE || stored["version"] !== VERSION) throw corrupt(`its version must be ${VERSION}`);
  const { targets } = stored;
  if (!isJsonObject(targets)) throw corrupt("it must have targets");
  return targets;
}

/** Throws what is wrong with what was kept: going on without it would begin another conversation. */
export function storedTask(stored: JsonValue | undefined, target: string): StoredTask | undefined {
  const targets = targetsOf(stored);
  const value = Object.hasOwn(targets, target) ? targets[target] : undefined;
  return value === undefined ? undefined : readTask(target, value);
}

/** The same with another task at one agent. A thread may talk to several. */
export function withTask(stored: JsonValue | undefined, target: string, task: StoredTask): JsonObject {
  return { type: TYPE, version: VERSION, targets: { ...targetsOf(stored), [target]: { ...task } } };
}

/** A task that a message may go to: it waits for one. */
export const isInterrupted = (task: StoredTask): boolean => INTERRUPTED.has(task.lastState);

/** A task that was accepted for this run, and whose end was not seen. */
export const isUnderWay = (task: StoredTask, runId: string): boolean => UNDER_WAY.has(task.lastState) && task.runId === runId;
