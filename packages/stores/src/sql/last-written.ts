import { type RunRecord, type ScopeId, ticketIdsOf } from "@awaken/contract";
import type { ThreadRecord } from "@awaken/contract/store";
import type { SqlOptions } from "./env.ts";

const MAX_ENTRIES = 128;
/** Longer ones are not held. */
const MAX_TEXT = 8 * 1024;

/** Records as this process wrote them last: a row that still holds the very text needs neither parsing nor a check. */
export class LastWritten<T> {
  readonly #maxEntries: number;
  /** The one that was written last stands last. By id alone, which needs no new string: tenants that use the same ids share a place. */
  readonly #entries = new Map<string, { readonly scopeId: ScopeId; readonly text: string; readonly record: T }>();

  constructor(maxEntries = MAX_ENTRIES) {
    this.#maxEntries = maxEntries;
  }

  find(scopeId: ScopeId, id: string, text: unknown): T | undefined {
    const entry = this.#entries.get(id);
    return entry?.scopeId === scopeId && entry.text === text ? entry.record : undefined;
  }

  /** Without a record the id is forgotten. */
  put(scopeId: ScopeId, id: string, text: string, record: T | undefined): void {
    this.#entries.delete(id);
    if (record === undefined || text.length > MAX_TEXT) return;
    this.#entries.set(id, { scopeId, text, record });
    if (this.#entries.size > this.#maxEntries) this.#dropOldest();
  }

  #dropOldest(): void {
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}

/** What the commits of a store need not read twice. */
export interface Written {
  readonly threads: LastWritten<ThreadRecord>;
  readonly runs: LastWritten<RunRecord>;
}

export function createWritten({ cacheBytes }: SqlOptions): Written {
  const maxEntries = cacheBytes === 0 ? 0 : MAX_ENTRIES;
  return { threads: new LastWritten(maxEntries), runs: new LastWritten(maxEntries) };
}

/**
 * The part of a run that a commit looks at before it replaces it. Only of runs without tickets: their lists belong to the caller, who
 * may change them later.
 */
export const lastingRun = (run: RunRecord): RunRecord | undefined =>
  run.status === "running" && ticketIdsOf(run).size === 0 ? { ...run, decided: [] } : undefined;
