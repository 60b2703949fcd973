import { errorMessage, type Log } from "@awaken/contract";
import { raceAbort } from "../stream/abort.ts";
import type { Clock } from "../stream/clock.ts";
import { callsInFlight, completeCalls } from "./calls-so-far.ts";
import type { Collector } from "./collector.ts";
import type { CheckpointSlot, StreamCheckpoint } from "./stream-checkpoint.ts";

const BEATS_PER_SAVE = 4;
const MAX_AGE_MS = 15 * 60_000;

export interface RecorderInit {
  readonly slot: CheckpointSlot;
  readonly model: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Keeps the checkpoint of one inference. A slot that fails or lags costs nothing but the checkpoint. */
export class CheckpointRecorder {
  readonly #init: RecorderInit;
  #savedBeats = 0;
  #next: StreamCheckpoint | undefined;
  #isSaving = false;
  #saving: Promise<void> = Promise.resolve();

  constructor(init: RecorderInit) {
    this.#init = init;
  }

  /** The checkpoint to go on from, unless it is too old or of another model. */
  async load(): Promise<StreamCheckpoint | undefined> {
    const { slot, signal, model, clock } = this.#init;
    const loaded = await raceAbort(
      this.#attempt("load", () => slot.load()),
      signal,
    );
    const saved = loaded.type === "value" ? loaded.value : undefined;
    if (saved === undefined || saved.model !== model) return undefined;
    return clock.now() - saved.updatedAt > (slot.maxAgeMs ?? MAX_AGE_MS) ? undefined : saved;
  }

  /** To be called after each part; saves after every fourth that mattered, without waiting. */
  beat(collector: Collector): void {
    if (collector.beats - this.#savedBeats >= BEATS_PER_SAVE) this.#save(collector);
  }

  /** Saves what there is now, if there is anything, and waits for it. */
  async flush(collector: Collector): Promise<void> {
    if (collector.beats === 0) return;
    this.#save(collector);
    await raceAbort(this.#saving, this.#init.signal);
  }

  /** The same after an abort: what there is stays for whoever goes on, and is there when this resolves. */
  async keep(collector: Collector): Promise<void> {
    if (collector.beats > 0) this.#save(collector);
    await this.#saving;
  }

  /** Takes the checkpoint away, after any save that is under way. */
  async discard(): Promise<void> {
    this.#next = undefined;
    const gone = this.#saving.then(() => this.#attempt("delete", () => this.#init.slot.delete()));
    await raceAbort(gone, this.#init.signal);
  }

  #save(collector: Collector): void {
    this.#savedBeats = collector.beats;
    this.#next = this.#checkpoint(collector);
    if (!this.#isSaving) this.#saving = this.#saveAll();
  }

  async #saveAll(): Promise<void> {
    this.#isSaving = true;
    for (let checkpoint = this.#next; checkpoint !== undefined; checkpoint = this.#next) {
      this.#next = undefined;
      const current = checkpoint;
      await this.#attempt("save", () => this.#init.slot.save(current));
    }
    this.#isSaving = false;
  }

  #checkpoint(collector: Collector): StreamCheckpoint {
    const { model, clock } = this.#init;
    const body = { model, text: collector.text, toolCalls: completeCalls(collector), updatedAt: clock.now() };
    const lost = callsInFlight(collector).at(-1);
    if (lost === undefined) return body;
    return { ...body, inFlight: { id: lost.id, name: lost.name, partialInput: lost.input } };
  }

  async #attempt<T>(what: string, operation: () => Promise<T>): Promise<T | undefined> {
    try {
      return await operation();
    } catch (thrown) {
      this.#init.log.warn("stream checkpoint store failed", { operation: what, error: errorMessage(thrown) });
      return undefined;
    }
  }
}
