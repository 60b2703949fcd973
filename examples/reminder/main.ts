// What a model should think of after certain results: told when it matters, instead of standing in every prompt.
// The model is scripted, so this runs without a key; what it reads is printed.
import { createRuntime, defineTool, fail } from "awaken";
import { reminder } from "awaken/reminder";
import { scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";

const edit = defineTool({
  id: "edit_file",
  description: "Changes a file",
  input: z.object({ path: z.string() }),
  execute: ({ path }) => (path.startsWith("/etc") ? fail("denied", `open ${path}: denied`) : { path, lines: 3 }),
});

const model = scripted([
  toolCall("edit_file", { path: "src/main.ts" }),
  toolCall("edit_file", { path: "src/index.ts" }),
  toolCall("edit_file", { path: "/etc/hosts" }),
  text("Done, as far as I may."),
]);

const runtime = createRuntime({
  providers: { scripted: model },
  models: { fast: { provider: "scripted", model: "scripted-1" } },
  agents: {
    coder: {
      model: "fast",
      plugins: ["reminder"],
      sections: {
        reminder: {
          rules: [
            {
              name: "tests",
              tool: 'edit_file(path ~ "src/**/*.ts")',
              output: { status: "success" },
              message: { target: "suffix-system", content: "Run the tests before you say that you are done.", cooldownSteps: 5 },
            },
            {
              name: "rights",
              tool: "*",
              output: { status: "error", content: "*denied*" },
              message: { target: "suffix-system", content: "Do not try again with other rights: say what is missing." },
            },
          ],
        },
      },
    },
  },
  tools: [edit],
  plugins: [reminder()],
});

await runtime.run({ agent: "coder", input: "Rename the entry" });
for (const [index, { messages }] of model.requests.entries()) {
  const told = messages
    .flatMap(({ role, content }) => (role === "system" ? content : []))
    .map((part) => (part.type === "text" ? part.text : ""));
  console.log(`request ${index + 1}: ${told.join(" ") || "no reminder"}`);
}
model.assertDone();
