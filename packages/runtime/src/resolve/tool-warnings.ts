import { isJsonObject, type JsonValue } from "@awaken/contract";
import { compileToolPattern, type LocalAgentSpec } from "@awaken/contract/spec";

interface Ids {
  has(id: string): boolean;
  keys(): Iterable<string>;
}

const ALLOW_ALL = "*";
const WITH_ARGUMENTS = /^([^()]+)\(.+\)$/s;
const UNESCAPED_STAR = /(?<!\\)\*/;
const IS_PATTERN = /[*?[]|^\/.*\/$/s;

function deadPatterns({ toolPatterns, excludedToolPatterns }: LocalAgentSpec, registered: Ids): string[] {
  const ids = [...registered.keys()];
  return [...(toolPatterns ?? []), ...(excludedToolPatterns ?? [])]
    .filter((pattern) => pattern !== ALLOW_ALL && !ids.some(compileToolPattern(pattern)))
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

function idleRules({ sections }: LocalAgentSpec, visible: Ids): string[] {
  const { permission } = sections;
  const { rules } = isJsonObject(permission) ? permission : {};
  if (!Array.isArray(rules)) return [];
  const named = rules.map(ruledTool).filter((tool) => tool !== undefined);
  return named.filter((tool) => !visible.has(tool)).map((tool) => `a permission rule names tool '${tool}', which the agent does not have`);
}

/** What is odd about an agent's choice of tools, but no error. */
export function toolWarnings(agent: LocalAgentSpec, registered: Ids, visible: Ids): readonly string[] {
  return [...deadPatterns(agent, registered), ...misplacedPermissions(agent), ...starsInLiterals(agent), ...idleRules(agent, visible)];
}
