// Which commands may an agent run? Listing is allowed, deleting is denied, the rest is asked about, and an answer may be for good.
// The model is scripted, so this runs without a key.
import { createRuntime, defineTool } from "awaken";
import { permission, previewPermission, remember } from "awaken/permission";
import { scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";

const bash = defineTool({
  id: "bash",
  description: "Runs a command",
  input: z.object({ command: z.string() }),
  execute: ({ command }) => {
    console.log(`  $ ${command}`);
    return "ok";
  },
});

const format = defineTool({ id: "format_disk", description: "Formats the disk", input: z.object({}), execute: () => "gone" });

const run = (command: string) => toolCall("bash", { command });
const model = scripted([run("ls src"), run("rm -rf src"), run("npm test"), run("npm run build"), text("Built; src is still there.")]);

const runtime = createRuntime({
  providers: { scripted: model },
  models: { fast: { provider: "scripted", model: "scripted-1" } },
  agents: {
    builder: {
      model: "fast",
      plugins: ["permission"],
      sections: {
        permission: {
          rules: [
            { tool: "bash(ls *)", behavior: "allow" },
            { tool: 'bash(command ~ "*rm *")', behavior: "deny" },
            { tool: "format_*", behavior: "deny" },
          ],
        },
      },
    },
  },
  tools: [bash, format],
  plugins: [permission()],
});

const { effectiveTools, unconditionallyDenied } = await previewPermission(runtime, "builder");
console.log(`offered: ${effectiveTools.join(", ")}; hidden: ${unconditionallyDenied.join(", ")}`);

console.log("> Build it");
const first = await runtime.run({ agent: "builder", thread: "t1", input: "Build it" });
const [ticket] = first.status === "waiting" ? first.tickets : [];
if (ticket === undefined) throw new Error("npm should be asked about");
console.log(`  ${ticket.message}: ${JSON.stringify(ticket.input)}`);

// Approved for this thread, for all that begins with npm: the next one is not asked about.
const decided = await runtime.decide(ticket.id, { action: "approve", by: "ana", ...remember({ rule: "bash(npm *)" }) });
const done = await decided.result;
console.log(`${done.text} [${done.status}]`);
model.assertDone();
