import type { RunId } from "@awaken/contract";
import { HeardStep, type LiveStep, type PassingEvent } from "./live-event.ts";
import type { LiveParcel } from "./parcels.ts";

/** What a thread's followers in this process are told by another one. */
export interface MirrorReader {
  changed(runId: RunId, passing: readonly PassingEvent[]): void;
  /** A run of this process has taken the thread, and has said nothing yet. */
  began(): void;
}

class Mirror {
  readonly readers = new Set<MirrorReader>();
  readonly #heard = new HeardStep();
  #source: (Pick<LiveStep, "runId" | "writtenAt"> & { readonly by: string; readonly next: number }) | undefined;

  get current(): LiveStep | undefined {
    const soFar = this.#heard.current;
    if (this.#source === undefined || soFar === undefined) return undefined;
    const { runId, writtenAt } = this.#source;
    return { runId, writtenAt, soFar };
  }

  receive({ by, n, runId, writtenAt, events, passing }: Extract<LiveParcel, { type: "events" }>): void {
    const isNext = this.#source?.by === by && this.#source.next === n;
    const isBeginning = events[0]?.type === "step-start";
    // A late word of an owner that was taken over from is not listened to.
    if (this.#source !== undefined && writtenAt < this.#source.writtenAt) return;
    if (!isNext && !isBeginning && this.#source?.by !== by) return;
    if (!isNext && !isBeginning) this.#heard.forget();
    this.#source = { by, runId, writtenAt, next: n + 1 };
    for (const event of events) this.#heard.hear(event);
    for (const reader of this.readers) reader.changed(runId, passing);
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

  current(threadId: string): LiveStep | undefined {
    return this.#mirrors.get(threadId)?.current;
  }

  began(threadId: string): void {
    for (const reader of this.#mirrors.get(threadId)?.readers ?? []) reader.began();
  }

  receive(threadId: string, parcel: Extract<LiveParcel, { type: "events" }>): void {
    this.#mirrors.get(threadId)?.receive(parcel);
  }
}
