export { type PostgresStoreOptions, postgresStore } from "@awaken/stores/postgres";
