import type { OpenTasks } from "../builtin/background/open-tasks.ts";
import type { CallVerbs, TaskCaller } from "../loop/run-tasks.ts";
import { type Late, whenThere, withRoom } from "../stream/door.ts";
import type { MessageReceipt, MessageRecipient } from "../tool/messages.ts";
import type { SpawnAgentOptions, SpawnOptions, TaskBody, TaskContext, TaskSummary, Tasks } from "../tool/tasks.ts";

/** Code that was to be started before the part was there that starts it. */
export interface LoadingTask {
  readonly summary: TaskSummary;
  isCancelled: boolean;
}

function stop(tasks: readonly LoadingTask[]): number {
  const running = tasks.filter(({ isCancelled }) => !isCancelled);
  for (const task of running) task.isCancelled = true;
  return running.length;
}

/** The background work of a run whose part may not be there yet. */
export interface LateWork {
  readonly opened: OpenTasks | undefined;
  readonly loading: readonly LoadingTask[];
  ready(): Late<OpenTasks>;
  /** Until it is started it can be seen and stopped like any other. `start`: gets what to run, and gives the id that it has from then on. */
  note<C extends TaskContext>(
    caller: TaskCaller,
    options: Pick<SpawnOptions, "type" | "name" | "description">,
    kind: string,
    body: TaskBody<C>,
    start: (body: TaskBody<C>) => Late<string>,
  ): Promise<string>;
  cancelRun(): number;
}

/** What one call asks of it. An object and no closures: each call has one, and most ask nothing (3 % of W3). */
export class LateVerbs implements Tasks {
  readonly #work: LateWork;
  readonly #caller: TaskCaller;
  #made: CallVerbs | undefined;

  constructor(work: LateWork, caller: TaskCaller) {
    this.#work = work;
    this.#caller = caller;
  }

  spawn(options: SpawnOptions, body: TaskBody): Promise<string> {
    const start = (code: TaskBody) => withRoom(this.#open(), options, ({ tasks }, given) => tasks.spawn(given, code));
    return this.#work.note(this.#caller, options, "task", body, start);
  }

  async spawnAgent(options: SpawnAgentOptions): Promise<string> {
    if (!("body" in options)) return withRoom(this.#open(), options, ({ tasks }, given) => tasks.spawnAgent(given));
    return this.#work.note(this.#caller, options, "sub_agent", options.body, (body) =>
      withRoom(this.#open(), options, ({ tasks }, given) => tasks.spawnAgent({ ...given, body })),
    );
  }

  get(taskId: string): TaskSummary | undefined {
    return this.#now?.get(taskId) ?? this.#loading(taskId)[0]?.summary;
  }

  list(): readonly TaskSummary[] {
    return [...(this.#now?.list() ?? []), ...this.#work.loading.map(({ summary }) => summary)];
  }

  cancel(taskId: string): boolean {
    return this.#now?.cancel(taskId) === true || stop(this.#loading(taskId)) > 0;
  }

  cancelTree(taskId: string): number {
    return (this.#now?.cancelTree(taskId) ?? 0) + stop(this.#loading(taskId));
  }

  cancelAll(): number {
    return (this.#now?.cancelAll() ?? 0) + stop(this.#work.loading);
  }

  cancelRun(): number {
    return stop(this.#work.loading) + (this.#now?.cancelRun() ?? this.#work.cancelRun());
  }

  send(taskId: string, content: string): Promise<void> {
    return Promise.resolve(whenThere(this.#open(), ({ tasks }) => tasks.send(taskId, content)));
  }

  settled(taskId: string): Promise<TaskSummary> {
    return Promise.resolve(whenThere(this.#open(), ({ tasks }) => tasks.settled(taskId)));
  }

  sendMessage(to: MessageRecipient, message: string): Promise<MessageReceipt> {
    return Promise.resolve(withRoom(this.#open(), to, (verbs, given) => verbs.sendMessage(given, message)));
  }

  #loading(taskId: string): readonly LoadingTask[] {
    return this.#work.loading.filter(({ summary }) => summary.taskId === taskId);
  }

  get #now(): Tasks | undefined {
    const { opened } = this.#work;
    return opened === undefined ? undefined : this.#verbsOf(opened).tasks;
  }

  #open(): Late<CallVerbs> {
    return this.#made ?? whenThere(this.#work.ready(), (tasks) => this.#verbsOf(tasks));
  }

  #verbsOf(tasks: OpenTasks): CallVerbs {
    this.#made ??= tasks.forCall(this.#caller);
    return this.#made;
  }
}
