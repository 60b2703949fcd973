import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { AwakenError } from "@awaken/contract";
import { type Channels, createChannels } from "../sql/listeners.ts";
import { Database, type DatabaseOptions } from "./database.ts";
import { migrate } from "./migrations.ts";
import { watchNeighbours } from "./neighbours.ts";
import { Writer } from "./session.ts";

const IN_MEMORY = ":memory:";

export interface OpenFile {
  readonly writer: Writer;
  readonly channels: Channels;
  /** The last one to leave closes the file. */
  leave(): Promise<void>;
}

interface Shared extends Omit<OpenFile, "leave"> {
  readonly unwatch: () => void;
  readonly settings: string;
  users: number;
}

/**
 * Files that this process has open. Stores of one file share a connection: SQLite lets one connection write at a time and makes the
 * thread wait for another one, which in the same thread would be for ever.
 */
const openFiles = new Map<string, Shared>();

/** Databases in memory are not shared, nor is a path that leads nowhere. */
function keyOf(path: string): string | undefined {
  if (path === IN_MEMORY) return undefined;
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    return undefined;
  }
}

const settingsOf = ({ synchronous, busyTimeoutMs, maxBytes, rows }: DatabaseOptions): string =>
  JSON.stringify({ synchronous, busyTimeoutMs, maxBytes, rows });

function open(path: string, options: DatabaseOptions): Shared {
  const db = Database.open(path, options);
  try {
    migrate(db);
  } catch (thrown) {
    db.close();
    throw thrown;
  }
  const channels = createChannels();
  const writer = new Writer(db, path === IN_MEMORY ? "none" : options.synchronous === "normal" ? "moment" : "turn");
  return { writer, channels, unwatch: watchNeighbours(db, channels.bells), settings: settingsOf(options), users: 0 };
}

export function openFile(path: string, options: DatabaseOptions): OpenFile {
  const key = keyOf(path);
  const shared = (key === undefined ? undefined : openFiles.get(key)) ?? open(path, options);
  if (shared.settings !== settingsOf(options)) {
    throw new AwakenError("storage_validation", `'${path}' is open in this process with other settings: ${shared.settings}`);
  }
  if (key !== undefined) openFiles.set(key, shared);
  shared.users++;
  const { writer, channels, unwatch } = shared;
  return {
    writer,
    channels,
    async leave() {
      if (--shared.users > 0) return;
      if (key !== undefined) openFiles.delete(key);
      unwatch();
      await writer.close();
    },
  };
}
