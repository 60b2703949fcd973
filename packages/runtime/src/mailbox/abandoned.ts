import { dispatchId, errorMessage, type Log, type RunId, type RunRecord, type ThreadId, threadId } from "@awaken/contract";
import { type ClaimedDispatch, MAX_LIMIT, type Outbound, type Page, type RunPosition } from "@awaken/contract/store";
import { isCalled } from "../run/called-run.ts";
import { isUnreadable } from "./attempts.ts";
import type { Ask, TenantQueue } from "./tenant-queue.ts";

// A run that nobody waits for any more: the one that did is over, or goes on without it. The commit that says so puts a dispatch on the
// thread of that run, and whoever claims it ends the run: what is on record is enough, whoever is gone the moment after.

const keyOf = (id: RunId): string => `abandoned:${id}`;

/** A run that a call has begun has a thread of its own, by the same id. */
const threadOf = (id: RunId): ThreadId => threadId(id);

const isBegunByCall = (run: RunRecord): boolean => isCalled(run) && run.threadId === threadOf(run.runId);

const NOTHING: readonly never[] = Object.freeze([]);

export const endAbandoned = (ids: readonly RunId[]): readonly Outbound[] =>
  ids.map((id) => {
    const [key, thread] = [keyOf(id), threadOf(id)];
    return {
      id: key,
      threadId: thread,
      forRun: id,
      dispatch: { dispatchId: dispatchId(key), threadId: thread, runId: id, dedupeKey: key },
    };
  });

/** Whether a dispatch is there to end its run. Callers give keys, and never ids of dispatches. */
export const isAbandoned = ({ runId, dispatchId: id }: ClaimedDispatch): boolean => id === keyOf(runId);

export interface Looking {
  readonly queue: Pick<TenantQueue, "runs">;
  readonly ask: Ask;
  readonly log: Log;
}

/** Runs that calls of this one have begun, and that are not over: its state knows one for each call that waits, and none of a step that was cut off. */
export async function openBelow({ queue, ask, log }: Looking, parentRunId: RunId): Promise<readonly RunId[]> {
  const query = { parentRunId, statuses: ["running", "waiting"] as const, limit: MAX_LIMIT };
  const ids: RunId[] = [];
  try {
    for (let after: RunPosition | undefined; ; ) {
      const page: Page<RunRecord, RunPosition> = await ask("list runs", queue.runs.list(after === undefined ? query : { ...query, after }));
      ids.push(...page.items.filter(isBegunByCall).map(({ runId }) => runId));
      if (page.next === undefined) return ids;
      after = page.next;
    }
  } catch (thrown) {
    // One that cannot be read cannot be ended either, and is no reason to keep the others.
    if (!isUnreadable(thrown)) throw thrown;
    log.warn(`runs below could not be looked for: ${errorMessage(thrown)}`, { runId: parentRunId });
    return ids;
  }
}

/** What one hold has to say of runs that its own does not wait for any more. */
export class Abandoned {
  readonly #ids = new Set<RunId>();
  readonly #stop: (id: RunId) => Promise<void>;

  constructor(stop: (id: RunId) => Promise<void>) {
    this.#stop = stop;
  }

  add(ids: readonly RunId[]): void {
    for (const id of ids) this.#ids.add(id);
  }

  /** For the next commit. */
  get outbound(): readonly Outbound[] {
    return this.#ids.size === 0 ? NOTHING : endAbandoned([...this.#ids]);
  }

  /** A commit is on record that had these. Those that are at work need not come to a place where they wait: they are told to stop. */
  async landed(outbound: readonly Outbound[]): Promise<void> {
    const said = new Set(outbound.map(({ id }) => id));
    const told = [...this.#ids].filter((id) => said.has(keyOf(id)));
    for (const id of told) this.#ids.delete(id);
    // It is on record: whatever throws here, a logger too, does not take that back.
    await Promise.allSettled(told.map((id) => this.#stop(id)));
  }
}
