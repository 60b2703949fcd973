import { realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { type Channels, createChannels } from "../sql/listeners.ts";
import { Database, type DatabaseOptions } from "./database.ts";
import { migrate } from "./migrations.ts";
import { watchNeighbours } from "./neighbours.ts";
import { Writer } from "./session.ts";

export const IN_MEMORY = ":memory:";

export interface OpenFile {
  readonly writer: Writer;
  readonly channels: Channels;
  /** The last one to leave closes the file. */
  leave(): Promise<void>;
}

interface Shared extends Omit<OpenFile, "leave"> {
  readonly unwatch: () => void;
  users: number;
}

/**
 * Files that this process has open. Stores of one file share a connection: SQLite lets one connection write at a time and makes the
 * thread wait for another one, which in the same thread would be for ever.
 */
const openFiles = new Map<string, Shared>();

function keyOf(path: string, options: DatabaseOptions): string | undefined {
  if (path === IN_MEMORY) return undefined;
  const { synchronous, busyTimeoutMs, maxBytes } = options;
  try {
    return JSON.stringify([join(realpathSync(dirname(path)), basename(path)), synchronous, busyTimeoutMs, maxBytes]);
  } catch {
    return undefined;
  }
}

function open(path: string, options: DatabaseOptions): Shared {
  const db = Database.open(path, options);
  try {
    migrate(db);
  } catch (thrown) {
    db.close();
    throw thrown;
  }
  const channels = createChannels();
  const writer = new Writer(db, { isGrouping: path !== IN_MEMORY && options.synchronous !== "normal" });
  return { writer, channels, unwatch: watchNeighbours(db, channels.bells), users: 0 };
}

export function openFile(path: string, options: DatabaseOptions): OpenFile {
  const key = keyOf(path, options);
  const shared = (key === undefined ? undefined : openFiles.get(key)) ?? open(path, options);
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
