import type { RunId } from "@awaken/contract";
import type { StepSoFar } from "../loop/step-progress.ts";
import { HeardStep, type PassingEvent } from "./live-event.ts";
import type { LiveParcel } from "./parcels.ts";

/** What a thread's followers in this process are told by another one. */
export interface MirrorReader {
  changed(passing: readonly PassingEvent[]): void;
}

class Mirror {
  readonly readers = new Set<MirrorReader>();
  readonly #heard = new HeardStep();
  #source: { readonly by: string; readonly runId: RunId; readonly next: number } | undefined;

  get current(): { readonly runId: RunId; readonly soFar: StepSoFar } | undefined {
    const soFar = this.#heard.current;
    return this.#source === undefined || soFar === undefined ? undefined : { runId: this.#source.runId, soFar };
  }

  receive({ by, n, runId, events, passing }: Extract<LiveParcel, { type: "events" }>): void {
    const isNext = this.#source?.by === by && this.#source.next === n;
    const isBeginning = events[0]?.type === "step-start";
    // A late word of an owner that was taken over from is not listened to, unless it begins a step.
    if (!isNext && !isBeginning && this.#source?.by !== by) return;
    if (!isNext && !isBeginning) this.#heard.forget();
    this.#source = { by, runId, next: n + 1 };
    for (const event of events) this.#heard.hear(event);
    for (const reader of this.readers) reader.changed(passing);
  }
}

/** Threads that are followed here and executed elsewhere. */
export class Mirrors {
  readonly #mirrors = new Map<string, Mirror>();

  enter(threadId: string, reader: MirrorReader): () => void {
    const mirror = this.#mirrors.get(threadId) ?? new Mirror();
    this.#mirrors.set(threadId, mirror);
    mirror.readers.add(reader);
    return () => {
      mirror.readers.delete(reader);
      if (mirror.readers.size === 0 && this.#mirrors.get(threadId) === mirror) this.#mirrors.delete(threadId);
    };
  }

  current(threadId: string): { readonly runId: RunId; readonly soFar: StepSoFar } | undefined {
    return this.#mirrors.get(threadId)?.current;
  }

  receive(threadId: string, parcel: Extract<LiveParcel, { type: "events" }>): void {
    this.#mirrors.get(threadId)?.receive(parcel);
  }
}
