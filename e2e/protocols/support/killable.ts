import { join } from "node:path";
import { freshSchema, type Server, startServer, tempFolder } from "../../durability/support/databases.ts";
import type { Place } from "../../durability/support/place.ts";
import { type ServerProcess, startProcess } from "../../server/support/process.ts";
import { journalOf } from "./agent.ts";

const FILE = join(import.meta.dirname, "../server-process.ts");

let database: Promise<Server> | undefined;

export async function stopDatabase(): Promise<void> {
  await (await database)?.[Symbol.asyncDispose]();
  database = undefined;
}

/** A server of its own process on a store that outlives it. */
export interface Killable extends AsyncDisposable {
  readonly url: string;
  kill(): Promise<void>;
  /** On the same store and port. */
  again(): Promise<void>;
  journal(): readonly string[];
}

export async function openKillable(engine: "sqlite" | "postgres"): Promise<Killable> {
  const folder = tempFolder();
  const journal = join(folder.path, "journal");
  database ??= engine === "postgres" ? startServer() : undefined;
  const schema = engine === "postgres" && database !== undefined ? freshSchema((await database).url) : undefined;
  const place: Place =
    schema === undefined || database === undefined
      ? { type: "sqlite", file: join(folder.path, "awaken.db") }
      : { type: "postgres", url: (await database).url, schema: schema.name };
  const order = { place, port: 0, journal };
  let child: ServerProcess = await startProcess(order, FILE);
  const { url, port } = child;
  return {
    url,
    kill: () => child.kill(),
    async again() {
      child = await startProcess({ ...order, port }, FILE);
    },
    journal: () => journalOf(journal),
    async [Symbol.asyncDispose]() {
      await child.kill();
      await schema?.[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
