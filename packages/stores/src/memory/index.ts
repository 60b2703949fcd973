// Public: what a caller hands in.
export type { MemoryStoreOptions } from "./store.ts";
export { memoryStore } from "./store.ts";
