import * as z from "zod";
import { allow, ask, block, command, defineState, defineTool, fail, reply, type StateKey, type Tool, wait } from "./index.ts";
import type { StateReader } from "./state/snapshot.ts";

// What `inference-budget.test-d.ts` imports and nothing more, so that the cost of the imports is known by itself.

export const imported = [allow, ask, block, command, defineState, defineTool, fail, reply, wait, z] as const;
export type Imported = [StateKey<unknown, unknown>, StateReader, Tool];
