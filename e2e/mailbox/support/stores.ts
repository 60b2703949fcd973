import { join } from "node:path";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { afterAll, beforeAll, describe, test } from "vitest";
import { freshSchema, type Server, startServer, tempFolder } from "../../durability/support/databases.ts";
import { openStore, type Place } from "../../durability/support/place.ts";

/** One database, opened twice: what two processes have. In memory there is only one. */
export interface Stores {
  readonly store: QueueStore;
  readonly peer: QueueStore;
}

export type OnStores = (title: string, work: (stores: Stores) => Promise<void>) => void;

const WITH_MEMORY = ["memory", "sqlite", "postgres"] as const;

/** The tests of `define` on every engine. */
export function onEveryStore(name: string, define: (it: OnStores) => void): void {
  describe(name, () => {
    let server: Server;
    beforeAll(async () => {
      server = await startServer();
    });
    afterAll(() => server[Symbol.asyncDispose]());
    for (const engine of WITH_MEMORY) {
      define((title, work) => {
        test(`${title}, on ${engine}`, async () => {
          if (engine === "memory") {
            await using store = memoryStore();
            return await work({ store, peer: store });
          }
          using folder = tempFolder();
          await using schema = freshSchema(server.url);
          const place: Place =
            engine === "sqlite"
              ? { type: "sqlite", file: join(folder.path, "awaken.db") }
              : { type: "postgres", url: server.url, schema: schema.name };
          await using store = await openStore(place);
          // Migrated before the second one comes.
          await store.threads.count({});
          await using peer = await openStore(place);
          return await work({ store, peer });
        });
      });
    }
  });
}

/** A process that hears of nothing: what it finds out it finds out from rows. */
export const deaf = (store: QueueStore): QueueStore => ({ ...store, queue: { ...store.queue, hints: async function* () {} } });
