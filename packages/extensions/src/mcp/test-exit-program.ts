// A program that connects a server and leaves without closing anything. Run with Node, never imported.
import { createRuntime } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { mcp } from "./mcp.ts";

const [, , server = ""] = process.argv;
const runtime = createRuntime({
  providers: { main: scripted([toolCall("mcp__s__echo", {}), text("done")]) },
  models: { fast: { provider: "main", model: "m" } },
  agents: { a: { model: "fast", plugins: ["mcp"] } },
  plugins: [mcp({ servers: { s: { command: process.execPath, args: [server, "", "deaf"] } } })],
});
for await (const event of runtime.stream({ input: "go" })) {
  if (event.type === "tool-call-end" && event.result?.type === "success") console.log(event.result.data);
}
process.exit(0);
