import { join } from "node:path";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import { freshSchema, type Server, startServer, tempFolder } from "../../durability/support/databases.ts";
import type { Place } from "../../durability/support/place.ts";

export const ENGINES = ["memory", "sqlite", "postgres"] as const;
export type Engine = (typeof ENGINES)[number];

/** One body of data, and handles on it: each is a node of its own, as far as the engine knows more than one. */
export interface Shared extends AsyncDisposable {
  readonly stores: readonly [QueueStore, QueueStore];
}

let server: Promise<Server> | undefined;

/** The server is started once for a file of tests. */
async function urlOfServer(): Promise<string> {
  server ??= startServer();
  return (await server).url;
}

export async function stopServer(): Promise<void> {
  await (await server)?.[Symbol.asyncDispose]();
  server = undefined;
}

/** Where several processes find one body of data. */
export async function openPlace(engine: "sqlite" | "postgres"): Promise<AsyncDisposable & { readonly at: Place }> {
  if (engine === "sqlite") {
    const folder = tempFolder();
    const remove = async () => folder[Symbol.dispose]();
    return { at: { type: "sqlite", file: join(folder.path, "awaken.db") }, [Symbol.asyncDispose]: remove };
  }
  const url = await urlOfServer();
  const schema = freshSchema(url);
  return { at: { type: "postgres", url, schema: schema.name }, [Symbol.asyncDispose]: () => schema[Symbol.asyncDispose]() };
}

export async function openShared(engine: Engine, options: { readonly clock?: () => number } = {}): Promise<Shared> {
  if (engine === "memory") {
    const store = memoryStore(options);
    return { stores: [store, store], [Symbol.asyncDispose]: () => store.close() };
  }
  if (engine === "sqlite") {
    const folder = tempFolder();
    const open = () => sqliteStore(join(folder.path, "awaken.db"), { synchronous: "normal", ...options });
    const stores = [open(), open()] as const;
    return {
      stores,
      async [Symbol.asyncDispose]() {
        for (const store of stores) await store.close();
        folder[Symbol.dispose]();
      },
    };
  }
  const url = await urlOfServer();
  const schema = freshSchema(url);
  const open = () => postgresStore(url, { schema: schema.name, connections: 4, ...options });
  const stores = [open(), open()] as const;
  await stores[0].threads.count({});
  return {
    stores,
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store.close();
      await schema[Symbol.asyncDispose]();
    },
  };
}
