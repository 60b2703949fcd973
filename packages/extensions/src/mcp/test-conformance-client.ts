// What the conformance suite runs as a client, with the address of its server as the last argument.
import { isJsonObject, type JsonObject } from "@awaken/contract";
import { createRuntime } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { mcp } from "./mcp.ts";
import { mcpToolId } from "./tool-id.ts";

const url = process.argv.at(-1) ?? "";
const INPUTS = new Map<string, JsonObject>([["add_numbers", { a: 5, b: 3 }]]);

/** The calls that the scenario asks for, or else each tool once. */
function callsOf(tools: readonly string[]): readonly (readonly [id: string, input: JsonObject])[] {
  const context: unknown = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");
  const asked = isJsonObject(context) && Array.isArray(context["toolCalls"]) ? context["toolCalls"].filter(isJsonObject) : [];
  const inputs = new Map([...INPUTS].map(([name, input]) => [mcpToolId("s", name), input]));
  if (asked.length === 0) return tools.map((id) => [id, inputs.get(id) ?? {}] as const);
  return asked.map(({ name, arguments: input }) => [mcpToolId("s", String(name)), isJsonObject(input) ? input : {}] as const);
}

const plugin = mcp({
  servers: { s: { url } },
  elicitation: async ({ message }) => ({ action: "accept", content: message.includes("defaults") ? {} : { confirmed: true, name: "Ana" } }),
});
await using runtime = createRuntime({
  providers: { main: scripted([]) },
  models: { fast: { provider: "main", model: "m" } },
  agents: { a: { model: "fast", plugins: ["mcp"], maxSteps: 50 } },
  plugins: [plugin],
});
await runtime.initialize();
const { tools } = runtime.resolver.open().resolve("a");
const focal = tools.get(mcpToolId("s", "json_schema_2020_12_tool"))?.descriptor.parameters;
if (focal !== undefined) INPUTS.set("json_schema_echo", { schema: focal });
const calls = callsOf(plugin.servers.status().flatMap(({ tools }) => tools));
runtime.registry.replaceProvider("main", scripted([...calls.map(([id, input]) => toolCall(id, input)), text("done")]));
console.log(JSON.stringify(await runtime.run({ input: "go" })));
