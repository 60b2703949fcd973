// Two MCP servers that others wrote, started by the runtime: one reads files of one folder, the other keeps a memory.
// The model is scripted, so this runs without a key.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "awaken";
import { mcp } from "awaken/mcp";
import { scripted, text, toolCall } from "awaken/testing";

const folder = mkdtempSync(join(tmpdir(), "awaken-example-"));
writeFileSync(join(folder, "notes.txt"), "Ana likes tea.");

const model = scripted([
  toolCall("mcp__files__read_text_file", { path: join(folder, "notes.txt") }),
  toolCall("mcp__memory__create_entities", {
    entities: [{ name: "Ana", entityType: "person", observations: ["likes tea"] }],
  }),
  text("I read the notes and remember that Ana likes tea."),
]);

const servers = mcp({
  servers: {
    files: { command: "npx", args: ["mcp-server-filesystem", folder] },
    memory: { command: "npx", args: ["mcp-server-memory"], env: { MEMORY_FILE_PATH: join(folder, "memory.json") } },
  },
});

{
  await using runtime = createRuntime({
    providers: { scripted: model },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { assistant: { model: "fast", plugins: ["mcp"], excludedToolPatterns: ["mcp__files__write*", "mcp__memory__delete_*"] } },
    plugins: [servers],
  });
  await runtime.initialize();
  for (const { id, state, tools } of servers.servers.status()) console.log(`${id}: ${state}, ${tools.length} tools`);

  const run = runtime.stream({ input: "Read my notes and remember what is in them." });
  for await (const event of run) {
    if (event.type === "tool-call-end") console.log(`${event.toolName}: ${event.outcome}`);
  }
  const result = await run.result;
  console.log(result.status === "done" ? result.text : result.status);
}
// The runtime is closed: no process of the servers is left.
rmSync(folder, { recursive: true, force: true });
