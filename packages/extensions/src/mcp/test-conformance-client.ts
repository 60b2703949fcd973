// What the conformance suite runs as a client, with the address of its server as the last argument.
import { createRuntime } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { mcp } from "./mcp.ts";

const url = process.argv.at(-1) ?? "";
const CALLS = new Map([
  ["tools_call", toolCall("mcp__s__add_numbers", { a: 5, b: 3 })],
  ["elicitation-sep1034-client-defaults", toolCall("mcp__s__test_client_elicitation_defaults", {})],
  ["sse-retry", toolCall("mcp__s__test_reconnection", {})],
]);
const call = CALLS.get(process.env["MCP_CONFORMANCE_SCENARIO"] ?? "");

await using runtime = createRuntime({
  providers: { main: scripted([...(call === undefined ? [] : [call]), text("done")]) },
  models: { fast: { provider: "main", model: "m" } },
  agents: { a: { model: "fast", plugins: ["mcp"] } },
  plugins: [mcp({ servers: { s: { url } }, elicitation: async () => ({ action: "accept", content: {} }) })],
});
await runtime.initialize();
const result = await runtime.run({ input: "go" });
console.log(JSON.stringify(result));
