// Public: what a caller hands in.
export type { PgClient, PgPool } from "./driver.ts";
export { type PostgresStoreOptions, postgresStore } from "./store.ts";
