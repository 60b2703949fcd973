import {
  AwakenError,
  errorMessage,
  type JsonValue,
  type Message,
  type RunId,
  type TaskEvent,
  type TaskRecord,
  type ThreadId,
} from "@awaken/contract";
import { toResult } from "../../loop/task-message.ts";
import { command } from "../../phase/command.ts";
import type { InboxItem } from "../../plugin/inbox.ts";
import { backgroundTasks, isRunning, taskIdOf } from "../../state/background-tasks.ts";
import type { RunState } from "../../state/run-state.ts";
import { removeTask, setTask } from "../../state/task-changes.ts";
import { settledBy } from "../../state/task-records.ts";
import type { Queue } from "../../stream/queue.ts";
import { sleep } from "../../stream/sleep.ts";
import type { TableInit } from "./table-init.ts";

/** Where a run of the thread is reached while it is at work. */
export interface Seat {
  readonly state: RunState;
  readonly inbox: Queue<InboxItem>;
  /** For whoever watches. */
  show(task: TaskRecord): void;
}

/** What came while no run was at work on the thread. */
export type Unread = Extract<InboxItem, { readonly type: "task" | "messages" }>;

/** A task that is code, while it runs. */
interface LiveTask {
  record: TaskRecord;
  readonly controller: AbortController;
  readonly inbox: Queue<TaskEvent> | undefined;
  readonly over: PromiseWithResolvers<TaskRecord>;
}

/** What the code of a task is given. */
export interface BodyScene {
  readonly taskId: string;
  readonly signal: AbortSignal;
  emit(eventType: string, payload: JsonValue): boolean;
}

/** How news reach a thread on which no run is at work. */
export interface TaskPost {
  /**
   * On record when it resolves. `task`: no run of this process has it in its state, and if none put it on record, its news are nobody's.
   * Undefined: nothing outlives this process, and they are kept here.
   */
  readonly keep: ((threadId: ThreadId, event: TaskEvent, task: TaskRecord | undefined) => Promise<void>) | undefined;
  /** News are kept here: the run that waits for them goes on. */
  wake(threadId: ThreadId): void;
}

export interface ThreadTasksInit {
  readonly threadId: ThreadId;
  readonly table: TableInit;
  readonly post: TaskPost;
  /** There is nothing in it any more. */
  readonly onIdle: () => void;
}

const isAbort = (thrown: unknown, { aborted, reason }: AbortSignal): boolean => {
  if (!aborted) return false;
  if (thrown === reason || (AwakenError.is(thrown) && thrown.code === "cancelled")) return true;
  return thrown instanceof Error && thrown.name === "AbortError";
};

/** After a store that failed: how long until it is asked again. */
const RETRY_MS = [100, 1_000, 5_000, 30_000];

/** The tasks of one thread in this process: code that runs, what it came to and no run has read, and the run that is at work. */
export class ThreadTasks {
  readonly #init: ThreadTasksInit;
  readonly #live = new Map<string, LiveTask>();
  /** Over, and not on the record of the thread. */
  readonly #settled = new Map<string, TaskRecord>();
  #unread: Unread[] = [];
  #posting: Promise<void> | undefined;
  #seat: Seat | undefined;
  #next = 0;

  constructor(init: ThreadTasksInit) {
    this.#init = init;
  }

  get hasNews(): boolean {
    return this.#unread.length > 0 || this.#settled.size > 0;
  }

  get hasUnread(): boolean {
    return this.#unread.length > 0;
  }

  /** In the order of their creation. */
  get records(): readonly TaskRecord[] {
    const all = new Map<string, TaskRecord>();
    for (const record of this.#seat?.state.get(backgroundTasks)?.tasks ?? []) all.set(record.taskId, record);
    for (const { record } of this.#live.values()) all.set(record.taskId, record);
    for (const record of this.#settled.values()) all.set(record.taskId, record);
    return [...all.values()];
  }

  find(taskId: string): TaskRecord | undefined {
    return this.records.find((record) => record.taskId === taskId);
  }

  isLive(taskId: string): boolean {
    return this.#live.has(taskId) || this.#settled.has(taskId);
  }

  /** A run is at work on the thread: its state has the record, and its inbox gets the news. */
  sit(seat: Seat): void {
    if (this.#seat === seat) return;
    this.#seat = seat;
    for (const { record } of this.#live.values()) this.#write(record);
  }

  leave(seat: Seat): void {
    if (this.#seat === seat) this.#seat = undefined;
    this.#rest();
  }

  /** A message for the run that waits here, where there is no queue. */
  keep(message: Message): void {
    this.#unread.push({ type: "messages", messages: [message] });
    this.#init.post.wake(this.#init.threadId);
  }

  takeUnread(): readonly Unread[] {
    const unread = this.#unread;
    this.#unread = [];
    return unread;
  }

  /** Gives the id that it has from then on. */
  add(make: (taskId: string) => TaskRecord): TaskRecord {
    const stored = this.#seat?.state.get(backgroundTasks)?.next ?? 0;
    const count = Math.max(this.#next, stored);
    const record = make(taskIdOf(count));
    this.#write(record);
    this.#next = count + 1;
    this.#seat?.show(record);
    return record;
  }

  /** One that an earlier attempt has started. */
  put(record: TaskRecord): void {
    if (this.find(record.taskId) === undefined) this.#write(record);
  }

  /** One that could not be started after all. */
  remove(taskId: string): void {
    this.#seat?.state.commit(command().update(backgroundTasks, removeTask(taskId)));
  }

  /** The code begins in this tick. */
  start(record: TaskRecord, inbox: Queue<TaskEvent> | undefined, body: (scene: BodyScene) => Promise<unknown>): void {
    const live: LiveTask = { record, controller: new AbortController(), inbox, over: Promise.withResolvers() };
    this.#live.set(record.taskId, live);
    void this.#execute(live, body);
  }

  /** News of a task; false when nobody will ever read them. */
  tell(event: TaskEvent): boolean {
    if (this.#init.table.closing.aborted) return false;
    this.#note(event);
    const isRead = this.#posting === undefined && this.#seat?.inbox.tryPush({ type: "task", event }) === true;
    if (!isRead) this.#keep(event);
    return true;
  }

  /** The end of a task that is not code here. */
  #note(event: TaskEvent): void {
    const task = event.kind === "custom" ? undefined : this.find(event.taskId);
    const settled = task === undefined || !isRunning(task) ? undefined : settledBy(task, event, this.#init.table.clock.now());
    if (settled === undefined) return;
    this.#settled.set(settled.taskId, settled);
  }

  /** What becomes of a task is on record when the run reads it. */
  read(event: TaskEvent): void {
    const { taskId } = event;
    const task = this.find(taskId);
    const settled = task === undefined || !isRunning(task) ? task : settledBy(task, event, this.#init.table.clock.now());
    if (settled === undefined || event.kind === "custom") return;
    this.#write(settled);
    this.#settled.delete(taskId);
    this.#seat?.show(settled);
  }

  /** True when code was told to stop. */
  cancel(taskId: string, why: string): boolean {
    const live = this.#live.get(taskId);
    if (live === undefined || live.controller.signal.aborted) return false;
    live.controller.abort(new AwakenError("cancelled", why));
    return true;
  }

  /** The code of a run that was told to stop. */
  cancelRun(runId: RunId): void {
    for (const { record } of this.#live.values()) if (record.parent.runId === runId) this.cancel(record.taskId, "its run was cancelled");
  }

  cancelAll(why: string): void {
    for (const taskId of this.#live.keys()) this.cancel(taskId, why);
  }

  /** What reads what is written to it, if it does. */
  inboxOf(taskId: string): Queue<TaskEvent> | undefined {
    return this.#live.get(taskId)?.inbox;
  }

  /** Resolves when code that runs is over; undefined for what does not run here. */
  over(taskId: string): Promise<TaskRecord> | undefined {
    return this.#live.get(taskId)?.over.promise;
  }

  async #execute(live: LiveTask, body: (scene: BodyScene) => Promise<unknown>): Promise<void> {
    const { taskId } = live.record;
    const { signal } = live.controller;
    let event: TaskEvent;
    try {
      const scene: BodyScene = {
        taskId,
        signal,
        emit: (eventType, payload) =>
          this.#live.has(taskId) && this.tell({ kind: "custom", taskId, eventType, payload: toResult(payload) }),
      };
      event = { kind: "completed", taskId, result: toResult(await body(scene)) };
    } catch (thrown) {
      event = isAbort(thrown, signal) ? { kind: "cancelled", taskId } : { kind: "failed", taskId, error: errorMessage(thrown) };
    }
    this.#settle(live, event);
  }

  /** The record first, and its news in the same tick. */
  #settle(live: LiveTask, event: TaskEvent): void {
    const record = settledBy(live.record, event, this.#init.table.clock.now()) ?? live.record;
    live.record = record;
    live.inbox?.close();
    this.#live.delete(record.taskId);
    this.#settled.set(record.taskId, record);
    this.#seat?.show(record);
    if (!this.tell(event)) this.#settled.delete(record.taskId);
    live.over.resolve(record);
    this.#rest();
  }

  /** What the state refuses is known here all the same: a task must not look alive because of it. */
  #write(task: TaskRecord): void {
    try {
      this.#seat?.state.commit(command().update(backgroundTasks, setTask(task)));
    } catch (thrown) {
      this.#init.table.log.error(`a background task is not on record: ${errorMessage(thrown)}`, { taskId: task.taskId });
      if (isRunning(task)) throw thrown;
    }
  }

  #keep(event: TaskEvent): void {
    const { post, threadId } = this.#init;
    const { keep } = post;
    if (keep === undefined) {
      this.#unread.push({ type: "task", event });
      post.wake(threadId);
      return;
    }
    const task = this.find(event.taskId);
    const posting = (this.#posting ?? Promise.resolve())
      .then(() => this.#post(event, () => keep(threadId, event, this.#seat === undefined ? task : undefined)))
      .then(() => {
        if (this.#posting === posting) this.#posting = undefined;
        this.#rest();
      });
    this.#posting = posting;
  }

  /** Tried until the store has it, or the runtime is closed. Never rejects. */
  async #post(event: TaskEvent, keep: () => Promise<void>): Promise<void> {
    const { clock, closing, log } = this.#init.table;
    for (let attempt = 0; !closing.aborted; attempt++) {
      try {
        await keep();
        // From here on it is the thread that has it.
        if (event.kind !== "custom") this.#settled.delete(event.taskId);
        return;
      } catch (thrown) {
        log.warn(`news of a background task could not be kept: ${errorMessage(thrown)}`, { taskId: event.taskId });
        await sleep(clock, RETRY_MS[attempt] ?? 30_000, closing);
      }
    }
  }

  #rest(): void {
    if (this.#seat === undefined && this.#live.size === 0 && !this.hasNews && this.#posting === undefined) this.#init.onIdle();
  }
}
