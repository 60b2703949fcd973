import { errorMessage, type JsonValue } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import { type Command, command, defineTool, fail, reply, type Tool, type ToolContext } from "@awaken/runtime";
import { promotions } from "../deferred-tools/promotions.ts";
import { compileToolCallPattern } from "../pattern/compile-tool-call.ts";
import { permissionOverrides } from "../permission/policy.ts";
import type { Catalogue } from "./catalogue.ts";
import { runScript } from "./run-script.ts";
import { allowedSkills } from "./section.ts";
import { SkillError } from "./skill-error.ts";
import { activeSkills } from "./state.ts";
import type { Skill } from "./types.ts";

const DEFERRED_TOOLS = "deferred-tools";

/** A skill that this agent may use. Throws a `SkillError`. */
async function find(catalogue: Catalogue, id: string, { agent, clock }: ToolContext): Promise<Skill> {
  const skill = (await catalogue.refresh(clock.now())).get(id);
  const allowed = allowedSkills(agent);
  if (skill === undefined || (allowed !== undefined && !allowed.includes(id))) {
    throw new SkillError("unknown_skill", `there is no skill '${id}'`);
  }
  if (!skill.modelInvocable) throw new SkillError("model_invocation_disabled", `skill '${id}' is not for the model to activate`);
  return skill;
}

/** A `SkillError` is told by its code, anything else as a failure of reading. */
async function told<T>(work: () => Promise<T>) {
  try {
    return await work();
  } catch (thrown) {
    return thrown instanceof SkillError ? fail(thrown.code, thrown.message) : fail("io_error", errorMessage(thrown));
  }
}

/** An agent whose tools are hidden until they are searched for sees those that an active skill names. */
function shown({ allowedTools }: Skill, { agent, tools }: ToolContext): Command {
  const named = agent.plugins.includes(DEFERRED_TOOLS) ? allowedTools.filter((name) => tools.some(({ id }) => id === name)) : [];
  return named.length === 0 ? command() : command().update(promotions, { type: "promote", tools: named });
}

/** What the skill may use without being asked for, for the rest of the run. A token that is no pattern grants nothing. */
function grants(catalogue: Catalogue, { id, allowedTools }: Skill, given: Command): Command {
  let granted = given;
  for (const pattern of allowedTools) {
    try {
      compileToolCallPattern(pattern);
    } catch (thrown) {
      catalogue.warn(`skill '${id}' cannot be granted '${pattern}': ${errorMessage(thrown)}`);
      continue;
    }
    granted = granted.update(permissionOverrides, { type: "set-rule", pattern, behavior: "allow", source: "skill" });
  }
  return granted;
}

const skillInput = s.object({
  skill: s.string(),
  args: s.exactOptional(s.json()),
  arguments: s.exactOptional(s.json()),
});

function skillTool(catalogue: Catalogue): Tool {
  return defineTool({
    id: "skill",
    description:
      "Activates a skill by its name. Its instructions then stand in the conversation for the rest of the run. Give `arguments` as an object where the skill takes some.",
    input: skillInput,
    kind: "read",
    state: [activeSkills, permissionOverrides, promotions],
    idempotent: true,
    execute: (input, context) =>
      told(async () => {
        const found = await find(catalogue, input.skill, context);
        const given: JsonValue | undefined = input.arguments ?? input.args;
        const instructions = await found.instruct(given);
        const { id, fingerprint } = found;
        return reply(
          { activated: true, skill_id: id },
          {
            message: `Launching skill: ${id}`,
            command: grants(catalogue, found, shown(found, context)).update(activeSkills, {
              type: "activate",
              skillId: id,
              instructions,
              fingerprint,
            }),
          },
        );
      }),
  });
}

const resourceInput = s.object({ skill: s.string(), path: s.string(), kind: s.exactOptional(s.enum(["reference", "asset"])) });

function resourceTool(catalogue: Catalogue): Tool {
  return defineTool({
    id: "load_skill_resource",
    description: "Reads a file of a skill: text under references/, anything under assets/ as base64.",
    input: resourceInput,
    kind: "read",
    pure: true,
    execute: ({ skill, path, kind }, context) =>
      told(async () => {
        const found = await find(catalogue, skill, context);
        const { kind: own, content } = await found.load(path, kind);
        return reply({ skill_id: found.id, path, kind: own, content }, { message: content });
      }),
  });
}

const scriptInput = s.object({ skill: s.string(), script: s.string(), args: s.withDefault(s.array(s.string()), []) });

function scriptTool(catalogue: Catalogue, env: readonly string[]): Tool {
  return defineTool({
    id: "skill_script",
    description: "Runs a script of a skill, by its path under scripts/, and gives its exit code and what it wrote.",
    input: scriptInput,
    kind: "execute",
    execute: ({ skill, script, args }, context) =>
      told(async () => {
        const found = await find(catalogue, skill, context);
        const { clock, signal } = context;
        const ran = await runScript(await found.findScript(script), args, { clock, signal, env });
        return reply({
          ok: ran.exitCode === 0,
          skill_id: found.id,
          script,
          exit_code: ran.exitCode,
          stdout: ran.stdout,
          stderr: ran.stderr,
          stdout_truncated: ran.stdoutTruncated,
          stderr_truncated: ran.stderrTruncated,
        });
      }),
  });
}

/** The tools of skills. Without `scripts` there is none that runs anything. */
export const skillTools = (catalogue: Catalogue, scripts: { readonly env: readonly string[] } | undefined): readonly Tool[] => [
  skillTool(catalogue),
  resourceTool(catalogue),
  ...(scripts === undefined ? [] : [scriptTool(catalogue, scripts.env)]),
];
