export { mcpSkills, type PromptHost } from "./mcp-skills.ts";
export { skillFolders } from "./skill-folders.ts";
export { type SkillRecord, skillRecords } from "./skill-records.ts";
export { type SkillsOptions, skills } from "./skills.ts";
export { type ActiveSkillsUpdate, activeSkills, type SkillVisibilityUpdate, skillVisibility } from "./state.ts";
export type { ResourceKind, Skill, SkillArgument, SkillListing, SkillResource, SkillScript, SkillSource } from "./types.ts";
