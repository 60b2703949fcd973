import type { Message, RunId, TaskEvent } from "@awaken/contract";
import type { OpenTasks } from "../builtin/background/open-tasks.ts";
import type { CallVerbs, TaskCaller } from "../loop/run-tasks.ts";
import { backgroundTasks, isRunning } from "../state/background-tasks.ts";
import { messageOutbox } from "../state/message-outbox.ts";
import { type Late, whenThere, withRoom } from "../stream/door.ts";
import type { TaskSummary } from "../tool/tasks.ts";
import type { OpenedTasks, TasksInit } from "./run-parts.ts";

const NONE: readonly TaskSummary[] = Object.freeze([]);

/**
 * The background work of a run, which most runs have none of: it is loaded with the first task or message, or before the first step of a
 * run whose thread has some. Until then there is nothing to list or to stop, and that is said at once.
 */
export class LateTasks implements OpenedTasks {
  readonly #init: TasksInit;
  readonly #load: (init: TasksInit) => Late<OpenTasks>;
  #opened: OpenTasks | undefined;
  #isClosed = false;

  constructor(init: TasksInit, load: (init: TasksInit) => Late<OpenTasks>) {
    this.#init = init;
    this.#load = load;
  }

  get hasAny(): boolean {
    const { parts, scene } = this.#init;
    const isOnRecord = scene.state.snapshot().get(backgroundTasks) !== undefined;
    return isOnRecord || parts.tasks.find(scene.identity.threadId)?.hasNews === true;
  }

  get hasRunning(): boolean {
    return this.#init.scene.state.snapshot().get(backgroundTasks)?.tasks.some(isRunning) === true;
  }

  get hasOutbox(): boolean {
    return (this.#init.scene.state.snapshot().get(messageOutbox)?.pending.length ?? 0) > 0;
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

  async deliver(): Promise<void> {
    await (await this.#open()).deliver();
  }

  async cancel(): Promise<void> {
    await (await this.#open()).cancel();
  }

  /** The run is over here. */
  close(): void {
    this.#isClosed = true;
    this.#opened?.close();
  }

  forCall(caller: TaskCaller): CallVerbs {
    if (this.#opened !== undefined) return this.#opened.forCall(caller);
    let made: CallVerbs | undefined;
    const now = (): CallVerbs | undefined => {
      made ??= this.#opened?.forCall(caller);
      return made;
    };
    const open = (): Late<CallVerbs> =>
      now() ??
      whenThere(this.#open(), (tasks) => {
        made ??= tasks.forCall(caller);
        return made;
      });
    return {
      tasks: {
        spawn: (options, body) => Promise.resolve(withRoom(open(), options, ({ tasks }, given) => tasks.spawn(given, body))),
        spawnAgent: (options) => Promise.resolve(withRoom(open(), options, ({ tasks }, given) => tasks.spawnAgent(given))),
        get: (taskId) => now()?.tasks.get(taskId),
        list: () => now()?.tasks.list() ?? NONE,
        cancel: (taskId) => now()?.tasks.cancel(taskId) ?? false,
        cancelTree: (taskId) => now()?.tasks.cancelTree(taskId) ?? 0,
        cancelAll: () => now()?.tasks.cancelAll() ?? 0,
        cancelRun: () => now()?.tasks.cancelRun() ?? this.#cancelRun(),
        send: (taskId, content) => Promise.resolve(whenThere(open(), ({ tasks }) => tasks.send(taskId, content))),
        settled: (taskId) => Promise.resolve(whenThere(open(), ({ tasks }) => tasks.settled(taskId))),
      },
      sendMessage: (to, message) => Promise.resolve(withRoom(open(), to, ({ sendMessage }, given) => sendMessage(given, message))),
    };
  }

  #cancelRun(): number {
    this.#init.cancelRun();
    return 1;
  }

  #open(): Late<OpenTasks> {
    return (
      this.#opened ??
      whenThere(this.#load(this.#init), (opened) => {
        this.#opened ??= opened;
        if (this.#isClosed) this.#opened.close();
        return this.#opened;
      })
    );
  }
}
