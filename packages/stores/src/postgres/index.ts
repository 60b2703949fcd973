export type { PgClient, PgPool } from "./driver.ts";
export { type PostgresStoreOptions, postgresStore } from "./store.ts";
