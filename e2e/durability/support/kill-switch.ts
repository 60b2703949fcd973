import type { AgentEvent } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";

/**
 * Where a process dies. Before a commit nothing of it is there; inside, it is written in a transaction that is still open; during, it
 * is under way, and may land or not; after, it is there and nobody has heard of it.
 */
export const KILL_KINDS = [
  "before-commit",
  "before-effect",
  "inside-commit",
  "emit",
  "after-commit",
  "after-effect",
  "during-commit",
] as const;
export type KillKind = (typeof KILL_KINDS)[number];

export interface KillPlan {
  readonly kind: KillKind;
  /** At the n-th time, from 1. */
  readonly nth: number;
}

const NEVER = new Promise<never>(() => {});

/** Ends this process at the point of the plan, as a power cut would; without a plan never. */
export class KillSwitch {
  readonly #plan: KillPlan | undefined;
  readonly #lastWords: (kind: KillKind) => void;
  #count = 0;

  constructor(plan: KillPlan | undefined, lastWords: (kind: KillKind) => void) {
    this.#plan = plan;
    this.#lastWords = lastWords;
  }

  pass(kind: KillKind): void {
    if (this.#isDue(kind)) this.#die(kind);
  }

  heard(_event: AgentEvent): void {
    this.pass("emit");
  }

  /** Commits, and transactions of which one is a part. */
  store(store: Store): Store {
    return {
      ...store,
      commit: async (commit) => {
        this.pass("before-commit");
        if (this.#isDue("inside-commit")) {
          return store.transaction(async (ports) => {
            await ports.commit(commit);
            return this.#die("inside-commit");
          });
        }
        return this.#land(store.commit(commit));
      },
      transaction: async (work) => {
        this.pass("before-commit");
        return this.#land(
          store.transaction(async (ports) => {
            const result = await work(ports);
            this.pass("inside-commit");
            return result;
          }),
        );
      },
    };
  }

  async #land<T>(landing: Promise<T>): Promise<T> {
    if (this.#isDue("during-commit")) {
      setImmediate(() => this.#die("during-commit"));
      landing.catch(() => {});
      return NEVER;
    }
    const result = await landing;
    this.pass("after-commit");
    return result;
  }

  #isDue(kind: KillKind): boolean {
    if (this.#plan?.kind !== kind) return false;
    this.#count += 1;
    return this.#count === this.#plan.nth;
  }

  #die(kind: KillKind): never {
    this.#lastWords(kind);
    process.kill(process.pid, "SIGKILL");
    throw new Error("still alive");
  }
}
