import { AwakenError } from "@awaken/contract";
import type { StoredEvent } from "@awaken/contract/store";
import type { Log } from "./event-log.ts";
import type { Bell } from "./listeners.ts";

export interface NumberedEvent {
  readonly seq: number;
  readonly event: StoredEvent;
}

/** What is kept of a log: `first` is absent when that is nothing, `last` is the newest number that was given. */
export interface LogBounds {
  readonly first: number | undefined;
  readonly last: number;
}

export interface LogReader {
  /** A page of rows strictly after `seq`, in order. */
  after(seq: number): Promise<readonly NumberedEvent[]>;
  bounds(): Promise<LogBounds>;
}

export interface Following {
  readonly reader: LogReader;
  readonly log: Log;
  /** The last row that counts as read. */
  readonly from: number;
  /** Rings when the log has changed, and when the signal aborts. */
  readonly bell: Bell;
  readonly signal: AbortSignal;
  /** Runs when the reader is gone. */
  readonly leave: () => void;
}

/** Every row once and in order, then what comes, until the signal aborts. */
export async function* follow({ reader, log, from, bell, signal, leave }: Following): AsyncGenerator<StoredEvent, void, undefined> {
  try {
    let at = from;
    while (!signal.aborted) {
      const rows = await reader.after(at);
      if (rows.length === 0) {
        await checkKept(reader, at);
        await bell.wait();
        continue;
      }
      for (const { seq, event } of rows) {
        if (signal.aborted) return;
        if (seq !== at + 1) await checkGap(reader, log, at, seq);
        at = seq;
        yield event;
      }
    }
  } finally {
    leave();
  }
}

const overtaken = (at: number): AwakenError =>
  new AwakenError("cursor_expired", `events after number ${at} were deleted before they were read`, { details: { after: at } });

/** Nothing came after `at`: either nothing was written, or it is gone already. */
async function checkKept(reader: LogReader, at: number): Promise<void> {
  const { first, last } = await reader.bounds();
  if (last < at || (first === undefined && last > at)) throw overtaken(at);
}

/** A deleted thread takes its events out of the logs of runs that are another's; the log of a thread has no gap. */
async function checkGap(reader: LogReader, { type }: Log, at: number, seq: number): Promise<void> {
  const { first } = await reader.bounds();
  if (first === undefined || first >= seq) throw overtaken(at);
  if (type === "run") return;
  throw new AwakenError("data_integrity", `events ${at + 1} to ${seq - 1} of a log are missing`, { details: { after: at, next: seq } });
}
