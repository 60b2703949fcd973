/** The runtimes that we are measured against, at the versions that the tables speak of. */
export interface Peer {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
  /** What a program that plays one agent with a tool imports: for import time and bundle size. */
  readonly entry: string;
  /** The packages that such a program installs, when that is not all of `dependencies`. */
  readonly core?: readonly string[];
}

/** What programs write their schemas with. */
export const ZOD_VERSION = "4.6.7";
const zod = ZOD_VERSION;

export const PEERS: readonly Peer[] = [
  {
    name: "pi",
    dependencies: { "@earendil-works/pi-agent-core": "0.87.1", "@earendil-works/pi-ai": "0.87.1" },
    entry: 'export { Agent } from "@earendil-works/pi-agent-core";',
  },
  {
    name: "ai",
    dependencies: { ai: "7.0.169", zod },
    entry: 'export { streamText, tool } from "ai";',
  },
  {
    name: "openai-agents",
    dependencies: { "@openai/agents": "0.20.0", zod },
    entry: 'export { Agent, Runner, tool } from "@openai/agents";',
  },
  {
    name: "voltagent",
    dependencies: { "@voltagent/core": "2.10.0", ai: "6.0.326", zod },
    entry: 'export { Agent, createTool } from "@voltagent/core";',
  },
  {
    name: "langchain",
    dependencies: {
      "@langchain/core": "1.2.13",
      "@langchain/langgraph": "1.4.18",
      "@langchain/langgraph-checkpoint-sqlite": "1.0.4",
      langchain: "1.5.14",
      zod,
    },
    // The first one that brings its binaries along, and the last one whose own dependencies are all published.
    overrides: { "better-sqlite3": "13.0.3", "@langchain/langgraph-sdk": "1.12.3" },
    core: ["@langchain/core", "@langchain/langgraph", "langchain", "zod"],
    entry: 'export { createAgent, tool } from "langchain"; export { MemorySaver } from "@langchain/langgraph";',
  },
  {
    name: "mastra",
    dependencies: { "@mastra/core": "1.71.0", "@mastra/libsql": "1.23.1", "@mastra/memory": "1.31.0", zod },
    core: ["@mastra/core", "zod"],
    entry: 'export { Agent } from "@mastra/core/agent"; export { createTool } from "@mastra/core/tools";',
  },
];
