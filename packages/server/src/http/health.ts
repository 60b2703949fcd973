import { errorMessage, type Log, runId } from "@awaken/contract";
import type { RunStore } from "@awaken/contract/store";
import type { Clock } from "@awaken/runtime";

const STORE_MS = 5_000;

export interface HealthInit {
  readonly store: { readonly runs: Pick<RunStore, "load"> };
  readonly clock: Clock;
  readonly recover: () => Promise<void>;
  readonly log: Log;
}

export interface Health {
  readonly status: "healthy" | "unhealthy";
  readonly components: { readonly store: "ok" | "error" | "timeout"; readonly runtime: "ok" | "starting" | "shutting-down" };
}

/** Whether requests may be sent here: the store answers, what others left was taken up once, and nobody is leaving. */
export class HealthCheck {
  readonly #init: HealthInit;
  #recovery: "missing" | "under-way" | "done" = "missing";
  #isLeaving = false;

  constructor(init: HealthInit) {
    this.#init = init;
    this.#recover();
  }

  leave(): void {
    this.#isLeaving = true;
  }

  /** A store that was away when the server started is asked again by whoever wants to know whether it is ready. */
  #recover(): void {
    const { recover, log } = this.#init;
    this.#recovery = "under-way";
    recover().then(
      () => {
        this.#recovery = "done";
      },
      (thrown: unknown) => {
        this.#recovery = "missing";
        log.error(`what other processes have left could not be taken up: ${errorMessage(thrown)}`);
      },
    );
  }

  async check(): Promise<Health> {
    const store = await this.#askStore();
    if (store === "ok" && this.#recovery === "missing" && !this.#isLeaving) this.#recover();
    const runtime = this.#isLeaving ? "shutting-down" : this.#recovery === "done" ? "ok" : "starting";
    return { status: store === "ok" && runtime === "ok" ? "healthy" : "unhealthy", components: { store, runtime } };
  }

  /** Reads what is not there: that costs least. */
  async #askStore(): Promise<"ok" | "error" | "timeout"> {
    const { store, clock } = this.#init;
    const { promise, resolve } = Promise.withResolvers<"timeout">();
    const stop = clock.timer(STORE_MS, () => resolve("timeout"));
    try {
      const answered = store.runs.load(runId("health")).then(
        () => "ok" as const,
        () => "error" as const,
      );
      return await Promise.race([answered, promise]);
    } finally {
      stop();
    }
  }
}
