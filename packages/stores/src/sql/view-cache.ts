import { AwakenError, type ScopeId, type ThreadId } from "@awaken/contract";
import { GrowingView, type SequencedMessage } from "@awaken/contract/store";
import type { ThreadRow } from "./commit-plan.ts";

export const DEFAULT_CACHE_BYTES = 32 * 1024 * 1024;
/** What an entry costs beside its messages. */
const ENTRY_BYTES = 512;

/** A log as a reader finds it; another incarnation is another log, although the thread has the same id. */
export type LogState = Pick<ThreadRow, "incarnation" | "messageCount" | "folded">;

interface Entry {
  readonly incarnation: string | null;
  readonly view: GrowingView;
  /** The rows of the log that the view was made of. */
  count: number;
  bytes: number;
}

/**
 * What models may see of the threads that were used last. Rows of a log never change, so a reader who finds the same incarnation of the
 * log needs only the rows behind those that are known. Nothing that might be rolled back may come in here.
 */
export class ViewCache {
  readonly #maxBytes: number;
  /** The one that was used last stands last. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(maxBytes = DEFAULT_CACHE_BYTES) {
    if (!(maxBytes >= 0)) throw new AwakenError("storage_validation", `cacheBytes must be a number from 0 on, not ${maxBytes}`);
    this.#maxBytes = maxBytes;
  }

  /** About as many as are held. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The log as it was when its view was made or extended last. */
  find(scopeId: ScopeId, id: ThreadId): { readonly incarnation: string | null; readonly count: number } | undefined {
    return this.#entries.get(keyOf(scopeId, id));
  }

  /** The view with the rows that came after those of `find`; undefined when that cannot be had without the older rows. */
  extend(scopeId: ScopeId, id: ThreadId, log: LogState, rows: readonly SequencedMessage[]): readonly SequencedMessage[] | undefined {
    const key = keyOf(scopeId, id);
    const entry = this.#entries.get(key);
    if (entry === undefined || !isBehind(entry, log)) return undefined;
    // Another reader may have been here since.
    const added = rows.filter((row) => row.seq > entry.count);
    if (added.length !== log.messageCount - entry.count) return undefined;
    const bytes = keepAll(added);
    this.#drop(key, entry);
    if (!entry.view.append(added)) return undefined;
    entry.count = log.messageCount;
    entry.bytes += bytes;
    this.#put(key, entry);
    return entry.view.messages;
  }

  /** The view of all rows after `folded`, which is known from now on. */
  replace(scopeId: ScopeId, id: ThreadId, log: LogState, rows: readonly SequencedMessage[]): readonly SequencedMessage[] {
    const key = keyOf(scopeId, id);
    const before = this.#entries.get(key);
    if (before !== undefined) this.#drop(key, before);
    const bytes = ENTRY_BYTES + keepAll(rows);
    const view = new GrowingView(rows);
    this.#put(key, { incarnation: log.incarnation, view, count: log.messageCount, bytes });
    return view.messages;
  }

  #put(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#bytes += entry.bytes;
    for (const [oldest, its] of this.#entries) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(oldest, its);
    }
  }

  #drop(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}

const keyOf = (scopeId: ScopeId, id: ThreadId): string => JSON.stringify([scopeId, id]);

/** Whether the view of the known rows is a part of what the log shows now: a summary that came since stands for older rows. */
export const isBehind = (known: { readonly incarnation: string | null; readonly count: number }, log: LogState): boolean =>
  known.incarnation === log.incarnation && known.count <= log.messageCount && known.count >= log.folded;

const keepAll = (rows: readonly SequencedMessage[]): number => rows.reduce((bytes, row) => bytes + keep(row), 0);

/** Freezes the value for good; gives about the bytes that it takes. */
function keep(value: unknown): number {
  if (typeof value === "string") return 16 + value.length;
  if (typeof value !== "object" || value === null) return 0;
  Object.freeze(value);
  let bytes = 24;
  for (const item of Object.values(value)) bytes += 8 + keep(item);
  return bytes;
}
