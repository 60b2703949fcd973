export { type A2aAgents, type A2aOptions, a2a, a2aAgents } from "@awaken/extensions/a2a";
