import { type AgentEvent, type RunId, type RunRecord, threadId } from "@awaken/contract";
import { type EventCursor, hasQueue } from "@awaken/contract/store";
import type { Project } from "../project.ts";

const PAGE = 200;

/** Whether a process that is not this one, and not gone, has the run in its hands. */
export async function isElsewhere({ store, runtime }: Project, run: RunRecord | undefined): Promise<boolean> {
  if (run?.status !== "running" || !hasQueue(store)) return false;
  const isHeld = async () => {
    const [held] = await store.dispatches.list(run.threadId, { statuses: ["claimed"], limit: 1 });
    return held?.runId === run.runId;
  };
  if (!(await isHeld())) return false;
  // Whoever is gone has lost it then.
  await runtime.recover();
  return isHeld();
}

/** Hears what other processes do on a thread. What is on record when it begins was shown already. */
export class ThreadFollower {
  readonly #project: Project;
  readonly #thread: string;
  readonly #hear: (event: AgentEvent) => void;
  #cursor: EventCursor | undefined;
  #leaving: AbortController | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(project: Project, thread: string, hear: (event: AgentEvent) => void) {
    this.#project = project;
    this.#thread = thread;
    this.#hear = hear;
  }

  /** `live`: a run of another process that nothing was shown of, which is heard from its beginning. */
  start(live: RunId | undefined): void {
    if (this.#leaving !== undefined) return;
    const leaving = new AbortController();
    this.#leaving = leaving;
    // Without events, or on a thread that nobody has begun, there is nothing to hear.
    this.#following = this.#follow(leaving.signal, live).catch(() => {
      if (this.#leaving === leaving) this.#leaving = undefined;
    });
  }

  /** Nothing is heard from here on. */
  async stop(): Promise<void> {
    this.#leaving?.abort();
    this.#leaving = undefined;
    await this.#following;
  }

  async #follow(signal: AbortSignal, live: RunId | undefined): Promise<void> {
    const after = await this.#end(live);
    for await (const event of this.#project.runtime.attach(this.#thread, { signal, ...(after === undefined ? {} : { after }) })) {
      if (signal.aborted) return;
      this.#hear(event);
    }
  }

  /** How far the log is, or was when the live run began. */
  async #end(live: RunId | undefined): Promise<EventCursor | undefined> {
    const scope = { type: "thread", threadId: threadId(this.#thread) } as const;
    for (;;) {
      const { items, next } = await this.#project.store.events.list(scope, {
        limit: PAGE,
        ...(this.#cursor === undefined ? {} : { after: this.#cursor }),
      });
      for (const { runId, cursors } of items) {
        if (live !== undefined && runId === live) return this.#cursor;
        this.#cursor = cursors.thread ?? this.#cursor;
      }
      if (next === undefined) return this.#cursor;
    }
  }
}
