import { AwakenError } from "@awaken/contract";
import type { Node } from "./fleet.ts";
import type { Scheduler } from "./scheduler.ts";

/** What somebody asked for. */
export interface Deed {
  readonly op: string;
  readonly thread: string;
  readonly message?: string;
  readonly decision?: string;
  readonly ticket?: string;
  readonly call?: string;
  readonly run?: string;
}

/** And what he was told. */
export interface Entry extends Deed {
  readonly node: string;
  /** The steps of the scheduler before which it began and ended. */
  readonly at: number;
  end?: number;
  /** `ok`, the code of a refusal, `cut` when the process was killed meanwhile, or `open`. */
  outcome: string;
  /** The run, and how it is. */
  runId?: string;
  detail?: string;
}

/** What people may be told: somebody else was faster, it is not there any more, or the store was away. */
const REFUSALS: ReadonlySet<string> = new Set([
  ...["thread_already_running", "ticket_not_open", "thread_not_found", "run_not_found", "storage_not_found", "storage_already_exists"],
  ...["version_conflict", "already_consumed", "pending_selection_conflict", "timeout", "cancelled", "decision_conflict", "storage_io"],
  ...["commit_unknown", "fence_lost", "agent_not_found"],
]);

/** And of threads that somebody deletes. */
const OF_DELETED: ReadonlySet<string> = new Set(["cursor_expired", "ticket_not_found"]);

const isAllowed = ({ thread }: Deed, code: string): boolean =>
  REFUSALS.has(code) || (OF_DELETED.has(code) && !/^(line|desk|wild)-/.test(thread));

const fieldOf = (value: object, name: string): string | undefined => {
  const field: unknown = Reflect.get(value, name);
  return typeof field === "string" ? field : undefined;
};

/** Everything that was asked, and what is wrong with an answer. */
export class Journal {
  readonly entries: Entry[] = [];
  readonly faults: string[] = [];
  readonly #scheduler: Scheduler;
  #names = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Of what is about to be asked: nobody else has it. */
  nextName(): number {
    return this.#names++;
  }

  /** Asks, waits for the answer, and puts both down. Never rejects. */
  async ask(deed: Deed, { name: node, lane }: Node, work: () => Promise<unknown>): Promise<void> {
    const entry: Entry = { ...deed, node, at: this.#scheduler.count, outcome: "open" };
    this.entries.push(entry);
    const cut = new Promise<"cut">((resolve) => {
      // Also one that was killed before he asked it: nothing comes back from there.
      if (lane.cut.aborted) resolve("cut");
      lane.cut.addEventListener("abort", () => resolve("cut"));
    });
    entry.outcome = await Promise.race([this.#answer(entry, work), cut]);
    entry.end = this.#scheduler.count;
  }

  /** The same, and nobody waits. */
  askAside(deed: Deed, node: Node, work: () => Promise<unknown>): Promise<void> {
    void this.ask(deed, node, work);
    return Promise.resolve();
  }

  async #answer(entry: Entry, work: () => Promise<unknown>): Promise<string> {
    try {
      const value = await work();
      if (typeof value === "object" && value !== null) {
        const runId = fieldOf(value, "runId") ?? fieldOf(value, "id");
        const detail = fieldOf(value, "status");
        Object.assign(entry, runId === undefined ? {} : { runId }, detail === undefined ? {} : { detail });
      }
      return "ok";
    } catch (thrown) {
      entry.detail = thrown instanceof Error ? thrown.message : String(thrown);
      if (AwakenError.is(thrown) && isAllowed(entry, thrown.code)) return thrown.code;
      this.faults.push(`odd refusal of ${JSON.stringify(entry)}: ${thrown instanceof Error ? thrown.stack : thrown}`);
      return AwakenError.is(thrown) ? thrown.code : "odd";
    }
  }

  /** Those who were not answered. */
  unanswered(): readonly Entry[] {
    return this.entries.filter(({ outcome }) => outcome === "open");
  }
}
