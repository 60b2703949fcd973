export { type SqliteStoreOptions, sqliteStore } from "@awaken/stores/sqlite";
