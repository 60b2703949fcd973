export { type A2aOptions, a2a } from "./a2a.ts";
export { type A2aAgents, a2aAgents } from "./a2a-agents.ts";
