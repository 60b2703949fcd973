import { randomUUID } from "node:crypto";
import { openTicketsOf, type RunRecord, runId, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import type { Runtime } from "@awaken/runtime";
import type { Random } from "../../inference/support/random.ts";
import { noteText, taskText } from "./agent.ts";
import type { Journal } from "./journal.ts";

/**
 * Threads come in kinds. On a `line` runs queue up one behind the other, are steered and cancelled. On a `desk`, which one process owns,
 * a run is started when the one before is over, and anybody decides what it waits for. On a `talk` people go on talking where a run waits.
 */
export type ThreadKind = "line" | "desk" | "talk";
export const kindOf = (thread: string): ThreadKind => (thread.startsWith("line") ? "line" : thread.startsWith("desk") ? "desk" : "talk");

export interface ClientInit {
  readonly runtime: Runtime;
  readonly store: QueueStore;
  readonly journal: Journal;
  readonly numbers: Random;
  /** Which of the processes it is; a process that follows one that was killed has the same place. */
  readonly slot: number;
  readonly startedAt: number;
  /** From now on it begins nothing new. */
  onQuiet(): void;
}

/** After so long everybody turns to new threads: none gets long. */
const ERA_MS = 8_000;
const PER_KIND = 3;
const MAX_QUEUED = 4;
/** Pause between two deeds of one process. */
const PACE_MS = 60;
const LISTED = 50;

const PLAIN: readonly [string, ...string[]] = ["i", "p", "r", "ip", "ri", "ir", "pr"];
const GUARDED: readonly [string, ...string[]] = ["s", "si", "rs", "sps", "ss"];

/** Somebody who uses the runtime: starts, talks, decides and cancels at random, and keeps a journal of it. */
export class Client {
  readonly #init: ClientInit;
  #isDraining = false;
  #isQuiet = false;
  isStopped = false;

  constructor(init: ClientInit) {
    this.#init = init;
  }

  /** Nothing new is begun; what waits is decided. */
  drain(): void {
    this.#isDraining = true;
  }

  async work(): Promise<void> {
    const { numbers, onQuiet } = this.#init;
    while (!this.isStopped) {
      if (this.#isDraining && !this.#isQuiet) {
        this.#isQuiet = true;
        onQuiet();
      }
      try {
        await this.#act();
      } catch (thrown) {
        // Only reads are not in the journal: the database is away for a moment.
        console.error("client:", thrown instanceof Error ? thrown.message : thrown);
      }
      await new Promise((resolve) => setTimeout(resolve, numbers.below(PACE_MS)));
    }
  }

  #act(): Promise<unknown> {
    const { numbers } = this.#init;
    if (this.#isDraining) return this.#decide();
    const roll = numbers.below(100);
    if (roll < 40) return this.#decide();
    if (roll < 65) return this.#line();
    if (roll < 70) return this.#cancel();
    if (roll < 88) return this.#desk();
    return this.#talk();
  }

  #thread(kind: ThreadKind): string {
    const { numbers, slot, startedAt } = this.#init;
    const era = Math.floor((Date.now() - startedAt) / ERA_MS);
    return `${kind}${kind === "desk" ? `-${slot}` : ""}-${era}-${numbers.below(PER_KIND)}`;
  }

  #task(thread: string, isGuarded: boolean): string {
    const { numbers } = this.#init;
    const steps = Array.from({ length: 1 + numbers.below(3) }, () => numbers.pick(PLAIN));
    if (isGuarded) steps.splice(numbers.below(steps.length + 1), 0, numbers.pick(GUARDED));
    return taskText(`${thread}/${randomUUID().slice(0, 8)}`, steps);
  }

  async #start(thread: string, run: string | undefined, content: string): Promise<void> {
    const { runtime, journal } = this.#init;
    const message = `m-${randomUUID()}`;
    const input = [{ role: "user", id: message, content } as const];
    const named = run === undefined ? {} : { runId: run };
    await journal.note(
      { op: "start", thread, run, message },
      () => runtime.start({ thread, ...named, input }),
      (started) => started.runId,
    );
  }

  async #line(): Promise<void> {
    const { store, numbers } = this.#init;
    const thread = this.#thread("line");
    if (numbers.below(4) === 0) return this.#send(thread, numbers.below(2) === 0 ? "steer" : "queue");
    const queued = await store.dispatches.list(threadId(thread), { statuses: ["queued"] });
    if (queued.length < MAX_QUEUED) await this.#start(thread, `r-${randomUUID()}`, this.#task(thread, false));
  }

  async #send(thread: string, mode: "steer" | "queue"): Promise<void> {
    const { runtime, journal } = this.#init;
    const message = `m-${randomUUID()}`;
    const input = [{ role: "user", id: message, content: noteText(message) } as const];
    await journal.note(
      { op: "send", thread, message },
      () => runtime.send(thread, input, { mode }),
      ({ runId: run }) => run ?? null,
    );
  }

  async #cancel(): Promise<void> {
    const { store, runtime, journal } = this.#init;
    const open = (await store.threads.loadHead(threadId(this.#thread("line"))))?.openRun;
    if (open === undefined) return;
    await journal.note({ op: "cancel", run: open.runId }, () => runtime.cancel(open.runId));
  }

  async #desk(): Promise<void> {
    const { store } = this.#init;
    const thread = this.#thread("desk");
    const open = await store.dispatches.list(threadId(thread), { statuses: ["queued", "claimed"], limit: 1 });
    if (open.length > 0 || (await store.threads.loadHead(threadId(thread)))?.openRun !== undefined) return;
    await this.#start(thread, `r-${randomUUID()}`, this.#task(thread, true));
  }

  async #talk(): Promise<void> {
    const { numbers } = this.#init;
    const thread = this.#thread("talk");
    await this.#start(thread, undefined, numbers.below(3) === 0 ? noteText(randomUUID()) : this.#task(thread, numbers.below(2) === 0));
  }

  /** One ticket of a run that waits, or that works on while another call of its turn does. */
  async #decide(): Promise<void> {
    const { store, numbers } = this.#init;
    const { items } = await store.runs.list({ statuses: ["waiting", "running"], limit: LISTED });
    const asked = items.filter((run) => openTicketsOf(run).length > 0);
    const run = asked[numbers.below(asked.length)];
    if (run === undefined) return;
    // Somebody has moved on since: it is looked at once more, as whoever decides would.
    const fresh = await store.runs.load(runId(run.runId));
    if (fresh !== undefined) await this.#decideOne(fresh);
  }

  async #decideOne(run: RunRecord): Promise<void> {
    const { runtime, journal, numbers } = this.#init;
    const tickets = openTicketsOf(run);
    const ticket = tickets[numbers.below(tickets.length)]?.id;
    if (ticket === undefined) return;
    const action = !this.#isDraining && numbers.below(4) === 0 ? "deny" : "approve";
    const decision = `d-${randomUUID()}`;
    await journal.note({ op: "decide", run: run.runId, ticket, decision, action }, () => runtime.decide(ticket, { action, id: decision }));
  }
}
