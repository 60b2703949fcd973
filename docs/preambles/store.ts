// biome-ignore-all lint/correctness/noUnusedVariables: the samples behind it use them
import type { RunResult } from "awaken";
import { sqliteStore } from "awaken/sqlite";

declare const threadId: RunResult["threadId"];
const store = sqliteStore(":memory:");
