import { addContextMessage, command, definePlugin, type Plugin } from "@awaken/runtime";
import { Catalogue } from "./catalogue.ts";
import { renderActive, renderCatalogue } from "./render.ts";
import { allowedSkills, skillsSectionSchema } from "./section.ts";
import { skillFolders } from "./skill-folders.ts";
import { skillTools } from "./skill-tools.ts";
import { activeSkills, skillVisibility } from "./state.ts";
import type { Skill, SkillSource } from "./types.ts";

export interface SkillsOptions {
  /** Folders whose subfolders are skills. */
  readonly folders?: readonly string[];
  /** Other places that skills come from: `skillRecords`, `mcpSkills`, or your own. */
  readonly sources?: readonly SkillSource[];
  /** Lets the model run scripts of skills, as the user that this process runs as. Default false. With `env`, names of variables that they may see. */
  readonly scripts?:
    | boolean
    | {
        /** Beside `PATH`, `HOME`, `LANG` and `SKILL_DIR`. */
        readonly env: readonly string[];
      };
}

const SECTION = "skills";

/** Those that this agent's model is told of. */
const visible = (
  skills: Iterable<Skill>,
  allowed: readonly string[] | undefined,
  shown: { readonly [id: string]: boolean },
): readonly Skill[] =>
  [...skills].filter(({ id, modelInvocable }) => modelInvocable && (allowed?.includes(id) ?? true) && (shown[id] ?? true));

function discovery(catalogue: Catalogue, scripts: { readonly env: readonly string[] } | undefined): Plugin {
  const tools = skillTools(catalogue, scripts);
  return definePlugin({
    id: "skills-discovery",
    section: SECTION,
    config: skillsSectionSchema,
    register(r) {
      r.state(activeSkills);
      r.state(skillVisibility);
      for (const tool of tools) r.tool(tool);
      r.hook("beforeInference", async ({ agent, state, clock }) => {
        const all = await catalogue.refresh(clock.now());
        const shown = state.get(skillVisibility)?.shown ?? {};
        const content = renderCatalogue(visible(all.values(), allowedSkills(agent), shown), { canRun: scripts !== undefined });
        if (content === undefined) return undefined;
        return command().schedule(addContextMessage, { key: "skill_catalog", role: "system", target: "system", content });
      });
    },
    async onInitialize({ log, clock }) {
      catalogue.log = log;
      await catalogue.refresh(clock.now());
    },
  });
}

function activeInstructions(catalogue: Catalogue): Plugin {
  return definePlugin({
    id: "skills-active-instructions",
    section: SECTION,
    config: skillsSectionSchema,
    register(r) {
      r.state(activeSkills);
      r.hook("beforeInference", async ({ state, clock }) => {
        const active = Object.entries(state.get(activeSkills)?.active ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
        if (active.length === 0) return undefined;
        const known = await catalogue.refresh(clock.now());
        let changes = command();
        const standing: (readonly [string, string])[] = [];
        for (const [skillId, { instructions, fingerprint }] of active) {
          if (known.get(skillId)?.fingerprint === fingerprint) standing.push([skillId, instructions]);
          else {
            catalogue.warn(`skill '${skillId}' was changed or is gone: it is not active any more`);
            changes = changes.update(activeSkills, { type: "deactivate", skillId });
          }
        }
        if (standing.length === 0) return changes;
        const content = renderActive(standing);
        return changes.schedule(addContextMessage, { key: "active_skill_instructions", role: "system", target: "suffix-system", content });
      });
    },
  });
}

/**
 * Skills for the agents that list both plugins, `skills-discovery` and `skills-active-instructions`: the model is told what skills there
 * are, activates one, and has its instructions before it for the rest of the run.
 */
export function skills({ folders = [], sources = [], scripts = false }: SkillsOptions): readonly [Plugin, Plugin] {
  const catalogue = new Catalogue([...(folders.length === 0 ? [] : [skillFolders(...folders)]), ...sources]);
  const allowed = scripts === false ? undefined : { env: scripts === true ? [] : scripts.env };
  return [discovery(catalogue, allowed), activeInstructions(catalogue)];
}
