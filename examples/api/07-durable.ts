// biome-ignore-all format: as printed in docs/api.md
// biome-ignore-all assist/source/organizeImports: as printed in docs/api.md
import { openai } from "@ai-sdk/openai";
import { createRuntime } from "awaken";
import { sqliteStore } from "awaken/sqlite";                // embedded, one file
import { postgresStore } from "awaken/postgres";            // many nodes

const models = { fast: { provider: "openai", model: "gpt-5-mini" } };
const agents = { assistant: { model: "fast" } };

const store = sqliteStore("awaken.db");
const runtime = createRuntime({ providers: { openai }, models, agents, store });

// On many nodes the same line reads `store: postgresStore(url)`.
export const onManyNodes = (url: string) => createRuntime({ providers: { openai }, models, agents, store: postgresStore(url) });

// Whatever a process that was killed left behind is finished first.
const cutOff = await store.runs.list({ statuses: ["running"] });
for (const { runId } of cutOff.items) console.log("resumed:", (await runtime.resume(runId)).text);

const { text } = await runtime.run({ agent: "assistant", thread: "t1", input: process.argv[2] ?? "Hello" });
console.log("answered:", text);
