// One program per runtime, all the same: ten tools with a checked input, one agent that has them. For the count of type instantiations.

const TOOLS = Array.from({ length: 10 }, (_, index) => index);
const INPUT = "z.object({ city: z.string(), days: z.number() })";

const program = (imports: string, tool: (index: number) => string, agent: (tools: string) => string): string =>
  [
    imports,
    ...TOOLS.map((index) => `const tool${index} = ${tool(index)};`),
    `export const agent = ${agent(TOOLS.map((index) => `tool${index}`).join(", "))};`,
  ].join("\n");

const ZOD = 'import * as z from "zod";\n';
const about = (index: number): string => `description: "Weather ${index}"`;
const execute = "execute: async ({ city, days }) => city + days";

/** By name of the peer; `zod` is what the schemas alone cost. */
export const TYPE_PROGRAMS: Readonly<Record<string, string>> = {
  zod: program(
    ZOD,
    () => INPUT,
    (tools) => `[${tools}]`,
  ),
  awaken: program(
    `${ZOD}import { createRuntime, defineTool } from "awaken";`,
    (index) => `defineTool({ id: "tool${index}", ${about(index)}, input: ${INPUT}, ${execute} })`,
    (tools) => `createRuntime({ agents: { a: { model: "m", instructions: "Be brief." } }, tools: [${tools}] })`,
  ),
  pi: program(
    'import { Agent, type AgentTool } from "@earendil-works/pi-agent-core";\nimport { Type } from "@earendil-works/pi-ai";\n' +
      "const input = Type.Object({ city: Type.String(), days: Type.Number() });\n" +
      "const typed = (tool: AgentTool<typeof input>) => tool;",
    (index) =>
      `typed({ name: "tool${index}", label: "", ${about(index)}, parameters: input, ` +
      'execute: async (_id, { city, days }) => ({ content: [{ type: "text", text: city + days }], details: undefined }) })',
    (tools) =>
      `new Agent({ initialState: { systemPrompt: "Be brief.", tools: [${tools}] }, streamFn: () => { throw new Error("none"); } })`,
  ),
  ai: program(
    `${ZOD}import { ToolLoopAgent, tool } from "ai";`,
    (index) => `tool({ ${about(index)}, inputSchema: ${INPUT}, ${execute} })`,
    (tools) => `new ToolLoopAgent({ model: "m", instructions: "Be brief.", tools: { ${tools} } })`,
  ),
  "openai-agents": program(
    `${ZOD}import { Agent, tool } from "@openai/agents";`,
    (index) => `tool({ name: "tool${index}", ${about(index)}, parameters: ${INPUT}, ${execute} })`,
    (tools) => `new Agent({ name: "a", instructions: "Be brief.", tools: [${tools}] })`,
  ),
  voltagent: program(
    `${ZOD}import { Agent, createTool } from "@voltagent/core";`,
    (index) => `createTool({ name: "tool${index}", ${about(index)}, parameters: ${INPUT}, ${execute} })`,
    (tools) => `new Agent({ name: "a", instructions: "Be brief.", model: "openai/m", tools: [${tools}] })`,
  ),
  langchain: program(
    `${ZOD}import { createAgent, tool } from "langchain";`,
    (index) => `tool(async ({ city, days }) => city + days, { name: "tool${index}", ${about(index)}, schema: ${INPUT} })`,
    (tools) => `createAgent({ model: "m", systemPrompt: "Be brief.", tools: [${tools}] })`,
  ),
  mastra: program(
    `${ZOD}import { Agent } from "@mastra/core/agent";\nimport { createTool } from "@mastra/core/tools";`,
    (index) => `createTool({ id: "tool${index}", ${about(index)}, inputSchema: ${INPUT}, ${execute} })`,
    (tools) => `new Agent({ id: "a", name: "a", instructions: "Be brief.", model: "openai/m", tools: { ${tools} } })`,
  ),
};
