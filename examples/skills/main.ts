// A skill from a folder: the model is told of it, activates it, reads its file and runs its script.
// The model is scripted, so this runs without a key.
import { join } from "node:path";
import { createRuntime } from "awaken";
import { skills } from "awaken/skills";
import { scripted, text, toolCall } from "awaken/testing";

const model = scripted([
  toolCall("skill", { skill: "weekly-report", arguments: { team: "Search" } }),
  toolCall("load_skill_resource", { skill: "weekly-report", path: "references/style.md" }),
  toolCall("skill_script", { skill: "weekly-report", script: "scripts/count.js", args: ["3", "4"] }),
  text("# Search, this week\n\n7 changes."),
]);

await using runtime = createRuntime({
  providers: { scripted: model },
  models: { fast: { provider: "scripted", model: "scripted-1" } },
  agents: { assistant: { model: "fast", plugins: ["skills-discovery", "skills-active-instructions"] } },
  plugins: skills({ folders: [join(import.meta.dirname, "skills")], scripts: true }),
});

const run = runtime.stream({ input: "Write the report of the search team." });
for await (const event of run) {
  if (event.type === "tool-call-end" && event.result?.type === "success") {
    console.log(`${event.toolName}: ${event.result.message ?? JSON.stringify(event.result.data)}`);
  }
}
const result = await run.result;
console.log(result.status === "done" ? result.text : result.status);
