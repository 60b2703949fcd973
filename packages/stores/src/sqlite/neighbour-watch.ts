import { watch } from "node:fs";
import type { Channels } from "../sql/listeners.ts";
import { numberOf } from "../sql/rows.ts";
import { type Database, IN_MEMORY } from "./database.ts";
import { isBusy } from "./errors.ts";
import { NeighbourHints } from "./neighbour-hints.ts";

/** How often to look while nothing happens: for systems that tell nobody of a file that has grown. */
const SLOW_MS = 200;
/** The pages of a commit are in the log before the commit is, which waits for the disk: looks after the log has grown, until it is found. */
const SOON_MS: readonly number[] = [1, 2, 4, 8, 16, 16, 16, 16, 16, 16, 16, 16];
/** After a write was found: more may come, but each look that finds one wakes everybody. */
const AFTER_FIND = 4;
/** Looks are the rarer the more followers there are to wake, up to the slow ones. */
const MS_PER_FOLLOWER = 0.2;

/** Calls `grown` when somebody writes to the log of a file, until it is closed. Undefined where the system does not tell. */
function watchLog(place: string, grown: () => void): { close(): void } | undefined {
  if (place === IN_MEMORY) return undefined;
  try {
    const watcher = watch(`${place}-wal`, { persistent: false }, grown);
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

/**
 * Wakes whoever waits after another process has written to the file: SQLite tells nobody, but it counts such writes. Nobody looks while
 * nobody waits; who comes is woken once, so that nothing before it is missed. While nothing happens, the system says when the log grows:
 * then the count is looked at often for a moment, and the system is not asked meanwhile, since it also tells of our own writes.
 */
export class NeighbourWatch {
  readonly #db: Database;
  readonly #channels: Channels;
  readonly #hints: NeighbourHints;
  readonly #tick = () => this.#look();
  readonly #grown = () => this.#beAlert();
  #seen: number;
  /** Looks in vain since something happened. */
  #vain = 0;
  #timer: NodeJS.Timeout | undefined;
  #log: { close(): void } | undefined;
  #isClosed = false;

  constructor(db: Database, channels: Channels) {
    this.#db = db;
    this.#channels = channels;
    this.#hints = new NeighbourHints(db);
    this.#seen = this.#version();
    this.awaited();
  }

  /** Somebody may have come to wait. */
  awaited(): void {
    if (this.#timer === undefined && this.#isAwaited && !this.#isClosed) this.#beAlert();
  }

  close(): void {
    this.#isClosed = true;
    this.#rest();
  }

  get #isAwaited(): boolean {
    return this.#channels.bells.size > 0 || this.#channels.hints.size > 0;
  }

  #version(): number {
    return numberOf(this.#db.get("PRAGMA data_version") ?? {}, "data_version");
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#unwatch();
  }

  #unwatch(): void {
    this.#log?.close();
    this.#log = undefined;
  }

  #beAlert(): void {
    this.#unwatch();
    this.#vain = 0;
    this.#wait();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    const soon = SOON_MS[this.#vain];
    const ms = soon === undefined ? SLOW_MS : Math.max(soon, Math.min(SLOW_MS, this.#channels.bells.size * MS_PER_FOLLOWER));
    this.#timer = setTimeout(this.#tick, ms);
    this.#timer.unref();
  }

  #look(): void {
    if (!this.#isAwaited) {
      this.#rest();
      return;
    }
    this.#vain++;
    // Before the look: what is written after it is told.
    if (this.#vain === SOON_MS.length) this.#log ??= watchLog(this.#db.place, this.#grown);
    try {
      if (this.#hasNews()) {
        this.#unwatch();
        this.#vain = AFTER_FIND;
      }
    } catch (thrown) {
      // Whoever has locked the file will be done by one of the next looks.
      if (!isBusy(thrown)) this.#channels.bells.ringAll();
    } finally {
      if (!this.#isClosed) this.#wait();
    }
  }

  #hasNews(): boolean {
    const { bells, hints } = this.#channels;
    const now = this.#version();
    if (now === this.#seen) return false;
    bells.ringAll();
    if (hints.size > 0) for (const hint of this.#hints.read()) hints.send(hint);
    this.#seen = now;
    return true;
  }
}
