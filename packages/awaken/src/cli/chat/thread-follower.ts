import type { AgentEvent, RunRecord } from "@awaken/contract";
import { hasQueue } from "@awaken/contract/store";
import type { Project } from "../project.ts";
import type { ChatHost } from "./chat-host.ts";

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
  readonly #host: ChatHost;
  readonly #thread: string;
  readonly #hear: (event: AgentEvent) => void;
  #cursor: string | undefined;
  #leaving: AbortController | undefined;
  #following: Promise<void> = Promise.resolve();

  constructor(host: ChatHost, thread: string, hear: (event: AgentEvent) => void) {
    this.#host = host;
    this.#thread = thread;
    this.#hear = hear;
  }

  /** `live`: a run of another process that nothing was shown of, which is heard from its beginning. */
  start(live: string | undefined): void {
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

  async #follow(signal: AbortSignal, live: string | undefined): Promise<void> {
    const after = await this.#end(live);
    for await (const event of this.#host.attach(this.#thread, { signal, ...(after === undefined ? {} : { after }) })) {
      if (signal.aborted) return;
      this.#hear(event);
    }
  }

  /** How far the log is, or was when the live run began. */
  async #end(live: string | undefined): Promise<string | undefined> {
    for (;;) {
      const { items, next } = await this.#host.events(this.#thread, this.#cursor);
      for (const { runId, cursor } of items) {
        if (live !== undefined && runId === live) return this.#cursor;
        this.#cursor = cursor ?? this.#cursor;
      }
      if (next === undefined) return this.#cursor;
    }
  }
}
