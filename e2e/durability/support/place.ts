import type { QueueStore } from "@awaken/contract/store";

/** Where a store is, so that another process can open the same one. */
export type Place =
  | { readonly type: "sqlite"; readonly file: string }
  | { readonly type: "postgres"; readonly url: string; readonly schema: string };

/** Loads only the driver that is asked for: a process starts faster. */
export async function openStore(place: Place): Promise<QueueStore> {
  if (place.type === "sqlite") {
    const { sqliteStore } = await import("@awaken/stores/sqlite");
    return sqliteStore(place.file);
  }
  const { postgresStore } = await import("@awaken/stores/postgres");
  return postgresStore(place.url, { schema: place.schema, connections: 4 });
}
