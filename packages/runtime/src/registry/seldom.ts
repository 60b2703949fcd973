/*
 * What registries do without whose agents all run here, whose contents nobody names, and whose agents have all tools. Loaded in one piece, behind the door of `seldom-door.ts`.
 */
export { agentPromptId, toolDescId } from "./content-id.ts";
export { discoverAgents } from "./remote-agents.ts";
export { warnOfTools } from "./tool-warnings.ts";
