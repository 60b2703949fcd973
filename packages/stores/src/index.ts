// Public: what a caller hands in.
export type { MemoryStoreOptions } from "./memory/index.ts";
export { memoryStore } from "./memory/index.ts";
