import { openRuntime, type Runtime } from "./open-runtime.ts";
import type { RuntimeInit } from "./runtime-init.ts";
import { placesInMemory } from "./runtime-memory.ts";

export type { Runtime } from "./open-runtime.ts";
export type { RuntimeInit } from "./runtime-init.ts";

/** The runtime: registries and runs, and nothing global. */
export const createRuntime = (given: RuntimeInit): Runtime => openRuntime(given, placesInMemory);
