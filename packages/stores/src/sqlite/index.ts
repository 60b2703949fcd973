export { unpackRow } from "./packed-rows.ts";
export { type SqliteStoreOptions, sqliteStore } from "./store.ts";
