import type { Skill } from "./types.ts";

const MAX_ENTRIES = 32;
const MAX_BYTES = 16 * 1024;

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function entry({ id, name, description, whenToUse }: Skill): string {
  const title = name === id ? escaped(id) : `${escaped(id)} (${escaped(name)})`;
  const about = whenToUse === undefined || whenToUse === "" ? description : `${description} ${whenToUse}`;
  return `<skill><name>${title}</name><description>${escaped(about)}</description></skill>`;
}

export interface CatalogueOptions {
  /** Whether the agent has the tool that runs scripts. */
  readonly canRun: boolean;
}

/** What the model is told about the skills that there are; undefined when there is none. */
export function renderCatalogue(skills: readonly Skill[], { canRun }: CatalogueOptions): string | undefined {
  if (skills.length === 0) return undefined;
  const lines: string[] = [];
  let bytes = 0;
  for (const skill of skills.slice(0, MAX_ENTRIES)) {
    const line = entry(skill);
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MAX_BYTES) break;
    lines.push(line);
  }
  const left = skills.length - lines.length;
  const note = left === 0 ? [] : [`<note>${left} more skills are not listed here</note>`];
  const usage = [
    "Before you begin a task that a skill is for, activate it with the tool skill; its instructions then hold for the rest of the run.",
    ...(skills.some(({ hasResources }) => hasResources)
      ? ["Files that its instructions name under references/ or assets/ are read with the tool load_skill_resource."]
      : []),
    ...(canRun && skills.some(({ hasScripts }) => hasScripts)
      ? ["Scripts that they name under scripts/ are run with the tool skill_script."]
      : []),
  ];
  return ["<available_skills>", ...lines, ...note, "</available_skills>", "<skills_usage>", ...usage, "</skills_usage>"].join("\n");
}

/** The instructions of the active skills, by id. */
export function renderActive(active: readonly (readonly [id: string, instructions: string])[]): string {
  const parts = active.map(([id, instructions]) => `<skill_instruction skill="${escaped(id)}">\n${instructions}\n</skill_instruction>`);
  return ["<active_skill_instructions>", ...parts, "</active_skill_instructions>"].join("\n");
}
