import type { JsonObject, ThreadId } from "@awaken/contract";
import { stepSoFar } from "../loop/step-so-far.ts";
import type { ActiveRun } from "../run/active-runs.ts";
import type { Clock } from "../stream/clock.ts";
import type { Ids } from "../stream/ids.ts";
import type { LiveStep } from "./live-event.ts";
import { type MirrorReader, Mirrors } from "./mirrors.ts";
import { ASK, readParcel } from "./parcels.ts";
import { ASKED_MS, Publisher } from "./publisher.ts";
import type { RelayStore } from "./relay-store.ts";

/** Asks are repeated before they are over. */
export const ASK_AGAIN_MS = ASKED_MS / 3;

export interface ExchangeInit {
  readonly store: RelayStore;
  readonly clock: Clock;
  readonly ids: Ids;
  /** The run of this process on the thread, if there is one. */
  readonly localRun: (threadId: ThreadId) => ActiveRun | undefined;
}

/** What the processes that share a store say to each other of the runs of one tenant. */
export class Exchange {
  readonly #init: ExchangeInit;
  readonly #mirrors = new Mirrors();
  readonly #publishers = new Map<ActiveRun, Publisher>();
  /** Of all that this process tells: it hears that again, and knew it before. */
  #own: string | undefined;
  #made = 0;

  constructor(init: ExchangeInit) {
    this.#init = init;
  }

  receive(threadId: ThreadId, body: JsonObject): void {
    const parcel = readParcel(body);
    if (parcel?.type === "ask") this.#asked(threadId);
    else if (parcel !== undefined && !this.#isOwn(parcel.by)) this.#mirrors.receive(threadId, parcel);
  }

  /** The step that is under way, wherever that is, as far as is known here. */
  current(threadId: ThreadId): LiveStep | undefined {
    const run = this.#init.localRun(threadId);
    if (run === undefined) return this.#mirrors.current(threadId);
    const { ctx, runId } = run;
    const soFar = ctx && stepSoFar(ctx.progress);
    return ctx === undefined || soFar === undefined ? undefined : { runId, writtenAt: ctx.landing.writtenAt, soFar };
  }

  /** Tells a reader of what other processes say about a thread. */
  follow(threadId: ThreadId, reader: MirrorReader): () => void {
    return this.#mirrors.enter(threadId, reader);
  }

  /** A run of this process has taken the thread. */
  began(threadId: ThreadId): void {
    this.#mirrors.began(threadId);
  }

  /** Asks whoever executes the thread to tell of it. */
  ask(threadId: ThreadId): void {
    this.#init.store.live?.send({ threadId, body: ASK });
  }

  #isOwn(by: string): boolean {
    return this.#own !== undefined && by.startsWith(this.#own);
  }

  #asked(threadId: ThreadId): void {
    const run = this.#init.localRun(threadId);
    const { clock, ids, store } = this.#init;
    const { live } = store;
    if (run === undefined || live === undefined) return;
    const known = this.#publishers.get(run);
    const send = (body: JsonObject) => live.send({ threadId, body });
    this.#own ??= `${ids()}/`;
    const by = known === undefined ? `${this.#own}${this.#made++}` : "";
    const publisher = known ?? new Publisher({ run, by, clock, send, onEnd: () => this.#publishers.delete(run) });
    this.#publishers.set(run, publisher);
    publisher.asked();
  }
}
