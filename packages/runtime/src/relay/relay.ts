import type { ThreadId } from "@awaken/contract";
import type { ActiveRun, ActiveRuns, Found } from "../run/active-runs.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import type { LiveStep } from "./live-event.ts";
import { type MirrorReader, Mirrors } from "./mirrors.ts";
import { ASK, readParcel } from "./parcels.ts";
import { ASKED_MS, Publisher } from "./publisher.ts";
import type { RelayStore } from "./relay-store.ts";

export interface RelayInit {
  readonly store: RelayStore;
  readonly active: ActiveRuns;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Aborted when the runtime is closed. */
  readonly closing: AbortSignal;
}

/** Asks are repeated before they are over. */
export const ASK_AGAIN_MS = ASKED_MS / 3;

/** What happens in the runs of one tenant, for whoever follows them here or elsewhere. */
export class Relay {
  readonly store: RelayStore;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  readonly #init: RelayInit;
  readonly #mirrors = new Mirrors();
  readonly #publishers = new Map<ActiveRun, Publisher>();
  #users = 0;
  #leave: (() => void) | undefined;

  constructor(init: RelayInit) {
    this.#init = init;
    this.store = init.store;
    this.clock = init.clock;
    this.closing = init.closing;
  }

  /** Hears of others what they ask and tell, as long as there is a run or a reader of this tenant here. */
  enter(): void {
    this.#users += 1;
    this.#leave ??= this.store.live?.listen(({ threadId, body }) => {
      const parcel = readParcel(body);
      if (parcel?.type === "ask") this.#asked(threadId);
      else if (parcel !== undefined) this.#mirrors.receive(threadId, parcel);
    });
  }

  /** True when nobody is left. */
  exit(): boolean {
    this.#users -= 1;
    if (this.#users > 0) return false;
    this.#leave?.();
    this.#leave = undefined;
    return true;
  }

  /** A run of this process, by its id or that of its thread. */
  find(id: string): Found {
    return this.#init.active.find(id);
  }

  /** The run of this process on the thread, if there is one. */
  localRun(threadId: ThreadId): ActiveRun | undefined {
    return this.#init.active.onThread(threadId);
  }

  /** The step that is under way, wherever that is, as far as is known here. */
  current(threadId: ThreadId): LiveStep | undefined {
    const run = this.localRun(threadId);
    if (run === undefined) return this.#mirrors.current(threadId);
    const { ctx, runId } = run;
    const soFar = ctx?.progress.current;
    return ctx === undefined || soFar === undefined ? undefined : { runId, writtenAt: ctx.writer.writtenAt, soFar };
  }

  /** Tells a reader of what other processes say about a thread. */
  follow(threadId: ThreadId, reader: MirrorReader): () => void {
    return this.#mirrors.enter(threadId, reader);
  }

  /** Asks whoever executes the thread to tell of it. */
  ask(threadId: ThreadId): void {
    this.store.live?.send({ threadId, body: ASK });
  }

  #asked(threadId: ThreadId): void {
    const run = this.localRun(threadId);
    const { live } = this.store;
    if (run === undefined || live === undefined) return;
    const known = this.#publishers.get(run);
    const { clock, ids } = this.#init;
    const send = (body: typeof ASK) => live.send({ threadId, body });
    const publisher = known ?? new Publisher({ run, by: ids(), clock, send, onEnd: () => this.#publishers.delete(run) });
    this.#publishers.set(run, publisher);
    publisher.asked();
  }
}
