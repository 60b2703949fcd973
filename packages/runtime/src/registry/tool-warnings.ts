import { isJsonObject, type JsonValue, type Log } from "@awaken/contract";
import { compileToolPattern, type LocalAgentSpec } from "@awaken/contract/spec";
import type { RunPlan } from "../loop/run-plan.ts";

interface Ids {
  has(id: string): boolean;
  keys(): Iterable<string>;
}

const ALLOW_ALL = "*";
const WITH_ARGUMENTS = /^([^()]+)\(.+\)$/s;
const UNESCAPED_STAR = /(?<!\\)\*/;
const IS_PATTERN = /[*?[]|^\/.*\/$/s;

/** Whether a source may have the id, or ids of the pattern, one day. */
type IsLate = (id: string) => boolean;

function deadPatterns({ toolPatterns, excludedToolPatterns }: LocalAgentSpec, registered: Ids, isLate: IsLate): string[] {
  const ids = [...registered.keys()];
  return [...(toolPatterns ?? []), ...(excludedToolPatterns ?? [])]
    .filter((pattern) => pattern !== ALLOW_ALL && !isLate(pattern) && !ids.some(compileToolPattern(pattern)))
    .map((pattern) => `tool pattern '${pattern}' matches no registered tool`);
}

function misplacedPermissions({ tools, toolPatterns, excludedTools, excludedToolPatterns }: LocalAgentSpec): string[] {
  return [tools, toolPatterns, excludedTools, excludedToolPatterns]
    .flatMap((list) => list ?? [])
    .filter((entry) => WITH_ARGUMENTS.test(entry))
    .map((entry) => `tool '${entry}' names arguments, which the catalogue does not know: that belongs in section 'permission'`);
}

function starsInLiterals({ tools, excludedTools }: LocalAgentSpec): string[] {
  return [...(tools ?? []), ...(excludedTools ?? [])]
    .filter((entry) => UNESCAPED_STAR.test(entry))
    .map((entry) => `tool '${entry}' is taken literally; a pattern belongs in 'toolPatterns' or 'excludedToolPatterns'`);
}

/** The tool that a permission rule names outright, if it does. */
function ruledTool(rule: JsonValue): string | undefined {
  const { tool } = isJsonObject(rule) ? rule : {};
  if (typeof tool !== "string") return undefined;
  const name = WITH_ARGUMENTS.exec(tool)?.[1] ?? tool;
  return IS_PATTERN.test(name) ? undefined : name;
}

function idleRules({ sections }: LocalAgentSpec, visible: Ids, isLate: IsLate): string[] {
  const { permission } = sections;
  const { rules } = isJsonObject(permission) ? permission : {};
  if (!Array.isArray(rules)) return [];
  const named = rules.map(ruledTool).filter((tool) => tool !== undefined);
  return named
    .filter((tool) => !visible.has(tool) && !isLate(tool))
    .map((tool) => `a permission rule names tool '${tool}', which the agent does not have`);
}

/** What is odd about an agent's choice of tools, but no error. */
export function toolWarnings(agent: LocalAgentSpec, registered: Ids, visible: Ids, isLate: IsLate = () => false): readonly string[] {
  return [
    ...deadPatterns(agent, registered, isLate),
    ...misplacedPermissions(agent),
    ...starsInLiterals(agent),
    ...idleRules(agent, visible, isLate),
  ];
}

/** Says so. */
export function warnOfTools(log: Log, { agent, tools, env }: RunPlan, registered: Ids): void {
  const isLate = (id: string) => env.sources.some(({ source }) => id.startsWith(source.prefix));
  for (const warning of toolWarnings(agent, registered, tools, isLate)) log.warn(warning, { agentId: agent.id });
}
