export { type MemoryStoreOptions, memoryStore } from "./memory/index.ts";
