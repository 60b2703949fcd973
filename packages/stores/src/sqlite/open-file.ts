import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AwakenError } from "@awaken/contract";
import { type Channels, createChannels } from "../sql/listeners.ts";
import { Database, type DatabaseOptions, DEFAULT_BUSY_MS, IN_MEMORY } from "./database.ts";
import { isBusy, toStorageError } from "./errors.ts";
import { migrate } from "./migrations.ts";
import { NeighbourWatch } from "./neighbour-watch.ts";
import { pauseMs, Writer } from "./session.ts";

export interface OpenFile {
  readonly channels: Channels;
  /** Waits while another process keeps the file from being opened. */
  use<T>(work: (writer: Writer) => Promise<T>): Promise<T>;
  /** Until what was asked for so far is done. */
  drain(): Promise<void>;
  /** The last one to leave closes the file. */
  leave(): Promise<void>;
}

/**
 * Files that this process has open. Stores of one file share a connection: SQLite lets one connection write at a time and makes the
 * thread wait for another one, which in the same thread would be for ever.
 */
const openFiles = new Map<string, SharedFile>();

/** Databases in memory are not shared, nor is a path that leads nowhere. */
function keyOf(path: string): string | undefined {
  if (path === IN_MEMORY) return undefined;
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return undefined;
  }
}

const settingsOf = ({ synchronous, busyTimeoutMs, maxBytes, readOnly }: DatabaseOptions): string =>
  JSON.stringify({ synchronous, busyTimeoutMs, maxBytes, readOnly });

interface Opened {
  readonly writer: Writer;
  readonly watch: NeighbourWatch;
}

function openNow(path: string, options: DatabaseOptions, channels: Channels): Opened {
  const db = Database.open(path, options);
  try {
    migrate(db);
    // A migration may need room for both forms of a table.
    if (options.maxBytes !== undefined) db.limit(options.maxBytes);
    const writer = new Writer(db, path === IN_MEMORY ? "none" : options.synchronous === "normal" ? "moment" : "turn");
    return { writer, watch: new NeighbourWatch(db, channels) };
  } catch (thrown) {
    db.close();
    throw toStorageError(thrown, path);
  }
}

/** One file and its users. What is wrong with it is thrown at once, unless another process is in its way: then it is opened later. */
class SharedFile {
  readonly channels = createChannels(() => this.#opened?.watch.awaited());
  readonly settings: string;
  users = 0;
  readonly #path: string;
  readonly #options: DatabaseOptions;
  #opened: Opened | undefined;
  #opening: Promise<Opened> | undefined;

  constructor(path: string, options: DatabaseOptions) {
    this.#path = path;
    this.#options = options;
    this.settings = settingsOf(options);
    try {
      this.#opened = openNow(path, options, this.channels);
    } catch (thrown) {
      if (!isBusy(thrown)) throw thrown;
      // Whoever uses it is told how this ends.
      this.#open().catch(() => {});
    }
  }

  use<T>(work: (writer: Writer) => Promise<T>): Promise<T> {
    return this.#opened === undefined ? this.#open().then(({ writer }) => work(writer)) : work(this.#opened.writer);
  }

  async drain(): Promise<void> {
    await this.#opening?.catch(() => {});
    await this.#opened?.writer.drain();
  }

  async close(): Promise<void> {
    this.#opened?.watch.close();
    await this.#opened?.writer.close();
  }

  /** Each time with a limit of its own: what failed once may be tried again. */
  #open(): Promise<Opened> {
    this.#opening ??= this.#openInTime().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #openInTime(): Promise<Opened> {
    const end = performance.now() + (this.#options.busyTimeoutMs ?? DEFAULT_BUSY_MS);
    for (let tries = 0; ; tries++) {
      try {
        this.#opened = openNow(this.#path, this.#options, this.channels);
        return this.#opened;
      } catch (thrown) {
        if (!isBusy(thrown) || performance.now() >= end) throw thrown;
      }
      await sleep(pauseMs(tries));
    }
  }
}

export function openFile(path: string, options: DatabaseOptions): OpenFile {
  const key = keyOf(path);
  const shared = (key === undefined ? undefined : openFiles.get(key)) ?? new SharedFile(path, options);
  if (shared.settings !== settingsOf(options)) {
    throw new AwakenError("storage_validation", `'${path}' is open in this process with other settings: ${shared.settings}`);
  }
  if (key !== undefined) openFiles.set(key, shared);
  shared.users++;
  return {
    channels: shared.channels,
    use: (work) => shared.use(work),
    drain: () => shared.drain(),
    async leave() {
      if (--shared.users > 0) return;
      if (key !== undefined) openFiles.delete(key);
      await shared.close();
    },
  };
}
