import { errorMessage, type Message, type RunId, type TaskEvent } from "@awaken/contract";
import type { OpenTasks } from "../builtin/background/open-tasks.ts";
import type { CallVerbs, TaskCaller, TaskScene } from "../loop/run-tasks.ts";
import { backgroundTasks, isReservedName, isRunning, taskIdOf } from "../state/background-tasks.ts";
import { messageOutbox } from "../state/message-outbox.ts";
import type { Late } from "../stream/door.ts";
import type { SpawnOptions, TaskBody, TaskContext, TaskSummary } from "../tool/tasks.ts";
import { LateVerbs, type LateWork, type LoadingTask } from "./late-verbs.ts";
import type { OpenedTasks, RunInit } from "./run-parts.ts";

type Load = (init: RunInit, scene: TaskScene) => Late<OpenTasks>;

const NONE: readonly LoadingTask[] = Object.freeze([]);

/** The code was told to stop before it began. */
function stopped({ tasks, taskId, signal }: TaskContext): never {
  tasks.cancel(taskId);
  throw signal.reason;
}

/**
 * The background work of a run, which most runs have none of: it is loaded with the first task or message, or before the first step of a
 * run whose thread has some. Until then there is nothing to list or to stop but what waits for it, and that is said at once.
 */
export class LateTasks implements OpenedTasks, LateWork {
  readonly #init: RunInit;
  readonly #scene: TaskScene;
  readonly #load: Load;
  readonly #before: OpenedTasks | undefined;
  #opened: OpenTasks | undefined;
  /** One for all who ask meanwhile: each goes on in the order in which he asked. */
  #opening: Promise<OpenTasks> | undefined;
  #isClosed = false;
  /** In the order in which they are started when the part is there: their ids follow from it. */
  #loading = NONE;

  constructor(init: RunInit, scene: TaskScene, load: Load) {
    this.#init = init;
    this.#scene = scene;
    this.#load = load;
    this.#before = init.tasks;
  }

  get hasAny(): boolean {
    const { state, identity } = this.#scene;
    const isOnRecord = state.get(backgroundTasks) !== undefined;
    return isOnRecord || this.#init.ofRuntime.tasks.find(identity.threadId)?.hasNews === true;
  }

  get hasRunning(): boolean {
    return this.#scene.state.get(backgroundTasks)?.tasks.some(isRunning) === true;
  }

  get hasOutbox(): boolean {
    return (this.#scene.state.get(messageOutbox)?.pending.length ?? 0) > 0;
  }

  ready(): Late<OpenTasks> {
    return this.#open();
  }

  async open(): Promise<readonly Message[]> {
    return (await this.#open()).open();
  }

  read(event: TaskEvent): void {
    this.#opened?.read(event);
  }

  childOf(taskId: string): RunId | undefined {
    return this.#opened?.childOf(taskId);
  }

  deliver(): Promise<void> {
    return this.#try("messages to other agents wait for the next run", (tasks) => tasks.deliver());
  }

  cancel(): Promise<void> {
    return this.#try("tasks could not be told to stop", (tasks) => tasks.cancel());
  }

  /** The run is over here. */
  close(): void {
    this.#isClosed = true;
    this.#opened?.close();
    this.#before?.close();
  }

  forCall(caller: TaskCaller): CallVerbs {
    if (this.#opened !== undefined) return this.#opened.forCall(caller);
    const tasks = new LateVerbs(this, caller);
    return { tasks, sendMessage: (to, message) => tasks.sendMessage(to, message) };
  }

  get opened(): OpenTasks | undefined {
    return this.#opened;
  }

  get loading(): readonly LoadingTask[] {
    return this.#loading;
  }

  async note<C extends TaskContext>(
    caller: TaskCaller,
    options: Pick<SpawnOptions, "type" | "name" | "description">,
    kind: string,
    body: TaskBody<C>,
    start: (body: TaskBody<C>) => Late<string>,
  ): Promise<string> {
    const task: LoadingTask = { summary: this.#summaryOf(caller, options, kind), isCancelled: false };
    const isSeen = this.#isAllowed(task.summary);
    if (isSeen) this.#loading = [...this.#loading, task];
    const begun = () => {
      if (isSeen) this.#loading = this.#loading.filter((other) => other !== task);
    };
    try {
      return await start(async (scene) => {
        begun();
        return task.isCancelled ? stopped(scene) : body(scene);
      });
    } finally {
      begun();
    }
  }

  /** What is refused when the part is there is never seen. */
  #isAllowed({ name }: TaskSummary): boolean {
    if (this.#loading.length >= this.#init.ofRuntime.tasks.table.init.maxRunning) return false;
    return name === undefined || !(isReservedName(name) || this.#loading.some(({ summary }) => summary.name === name));
  }

  #summaryOf({ callId, agentId }: TaskCaller, { type, name, description }: SpawnOptions, kind: string): TaskSummary {
    const { state, identity } = this.#scene;
    const next = state.get(backgroundTasks)?.next ?? 0;
    const taskType = type ?? kind;
    return {
      taskId: taskIdOf(next + this.#loading.length),
      taskType,
      ...(name === undefined ? undefined : { name }),
      description: description ?? name ?? taskType,
      status: "running",
      createdAt: this.#init.ofRuntime.clock.now(),
      parent: { runId: identity.runId, callId, agentId },
    };
  }

  /** Never rejects: the run must come to its end also where the part cannot be loaded. */
  async #try(failed: string, work: (tasks: OpenTasks) => Promise<void>): Promise<void> {
    try {
      await work(await this.#open());
    } catch (thrown) {
      const { runId } = this.#scene.identity;
      this.#init.ofRuntime.log.warn(`${failed}: ${errorMessage(thrown)}`, { runId });
    }
  }

  cancelRun(): number {
    this.#init.run.cancelItself();
    return 1;
  }

  #open(): Late<OpenTasks> {
    const there = this.#opened ?? this.#opening ?? this.#load(this.#init, this.#scene);
    if (!(there instanceof Promise)) return this.#enter(there);
    this.#opening ??= this.#enterLater(there);
    return this.#opening;
  }

  #enter(opened: OpenTasks): OpenTasks {
    this.#opened ??= opened;
    if (this.#isClosed) this.#opened.close();
    return this.#opened;
  }

  /** What could not be loaded is asked for again by whoever needs it next. */
  async #enterLater(loading: Promise<OpenTasks>): Promise<OpenTasks> {
    try {
      return this.#enter(await loading);
    } finally {
      this.#opening = undefined;
    }
  }
}
