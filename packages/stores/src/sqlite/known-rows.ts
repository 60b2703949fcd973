import type { RunRecord, ScopeId } from "@awaken/contract";
import type { ClaimedDispatch, DispatchRecord } from "@awaken/contract/store";
import type { ThreadRow } from "../sql/commit-plan.ts";
import type { Log, LogHead } from "../sql/event-log.ts";

/** So many of each kind; with more, commits read the rows. */
const MAX_ENTRIES = 512;

/** Those that were written last. By id alone, which needs no new string: tenants that use the same ids share a place. */
class Recent<T> {
  /** The one that was written last stands last. */
  readonly #entries = new Map<string, { readonly scopeId: ScopeId; readonly value: T }>();

  find(scopeId: ScopeId, id: string): T | undefined {
    const entry = this.#entries.get(id);
    return entry?.scopeId === scopeId ? entry.value : undefined;
  }

  /** Without a value the id is forgotten. */
  put(scopeId: ScopeId, id: string, value: T | undefined): void {
    this.#entries.delete(id);
    if (value === undefined) return;
    this.#entries.set(id, { scopeId, value });
    if (this.#entries.size > MAX_ENTRIES) this.#dropOldest();
  }

  clear(): void {
    if (this.#entries.size > 0) this.#entries.clear();
  }

  #dropOldest(): void {
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}

/** The record itself goes to a caller, who may change it. */
const ownCopy = (dispatch: ClaimedDispatch): ClaimedDispatch =>
  dispatch.echo === undefined ? { ...dispatch } : { ...dispatch, echo: structuredClone(dispatch.echo) };

/** Who holds a thread. */
interface Holder {
  readonly claim: ClaimedDispatch | undefined;
}

/**
 * What a connection need not read, because it read or wrote it last: no other connection has written since (SQLite counts those writes),
 * nothing was rolled back, and what this one wrote since has told of itself (`Tx.keeping`). Commits ask it, inside of their transaction.
 */
export class KnownRows {
  readonly threads = new Recent<ThreadRow>();
  readonly runs = new Recent<RunRecord>();
  /** Runs for which nobody wishes anything. */
  readonly wishless = new Recent<true>();
  readonly heads: Readonly<Record<Log["type"], Recent<LogHead>>> = { thread: new Recent(), run: new Recent() };
  /** By thread. */
  readonly holders = new Recent<Holder>();
  readonly epochs = new Recent<number>();

  readonly #all: readonly Recent<unknown>[] = [
    this.threads,
    this.runs,
    this.wishless,
    ...Object.values(this.heads),
    this.holders,
    this.epochs,
  ];

  clear(): void {
    for (const kind of this.#all) kind.clear();
  }

  /** A thread has one claim at most. */
  moved(scopeId: ScopeId, dispatch: DispatchRecord): void {
    const { threadId, dispatchId } = dispatch;
    if (dispatch.status === "claimed") this.holders.put(scopeId, threadId, { claim: ownCopy(dispatch) });
    else if (this.holders.find(scopeId, threadId)?.claim?.dispatchId === dispatchId) {
      this.holders.put(scopeId, threadId, { claim: undefined });
    }
  }
}
