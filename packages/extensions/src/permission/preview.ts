import { validateSync } from "@awaken/contract";
import type { Runtime } from "@awaken/runtime";
import { impossiblePaths } from "../pattern/schema-paths.ts";
import { compileDefinition } from "./definition.ts";
import { isShut } from "./evaluate.ts";
import { type Behavior, type PermissionSection, permissionSectionSchema } from "./section.ts";

/** What a preview is asked of: a runtime. */
export type PermissionHost = Pick<Runtime, "resolver">;

/** What an agent's section makes of its tools, before any thread or run adds to it. */
export interface PermissionPreview {
  /** The agent that was asked about. */
  readonly agentId: string;
  /** Whether the agent has the plugin, and its filter lets it act. Without it, everything is allowed. */
  readonly isEnabled: boolean;
  /** What becomes of a call that no rule matches. */
  readonly defaultBehavior: Behavior;
  /** Ids of the tools that its catalogue lets through, sorted. */
  readonly candidateTools: readonly string[];
  /** Those of them that no call could pass: the model is not offered them. */
  readonly unconditionallyDenied: readonly string[];
  /** Those that the model is offered. */
  readonly effectiveTools: readonly string[];
  /** The rules that look at the input of a call, in canonical spelling. */
  readonly argsConditionalRules: readonly {
    /** The pattern. */
    readonly tool: string;
    /** What becomes of the calls that it matches. */
    readonly behavior: Behavior;
  }[];
  /** Rules that look for a place which the input of their tool does not have. */
  readonly warnings: readonly string[];
}

function readSection(section: unknown): PermissionSection {
  const read = validateSync(permissionSectionSchema, section ?? {});
  if (read.type === "valid") return read.value;
  // The plugin refuses it too; without the plugin nobody reads it.
  return { defaultBehavior: "ask", rules: [] };
}

/** What the rules of an agent's section do, without running anything. Throws what resolving the agent throws. */
export async function previewPermission({ resolver }: PermissionHost, agentId: string): Promise<PermissionPreview> {
  const resolution = resolver.open();
  await resolution.ready(agentId);
  const { agent, tools } = resolution.resolve(agentId);
  const isEnabled =
    agent.plugins.includes("permission") && (agent.activePlugins.length === 0 || agent.activePlugins.includes("permission"));
  const rules = compileDefinition(readSection(isEnabled ? agent.sections["permission"] : undefined));
  const candidateTools = [...tools.keys()].sort();
  const unconditionallyDenied = isEnabled ? candidateTools.filter((id) => isShut(rules, id)) : [];
  const conditional = rules.rules.filter(({ matcher }) => matcher.pattern.args.type !== "any");
  return {
    agentId,
    isEnabled,
    defaultBehavior: isEnabled ? rules.defaultBehavior : "allow",
    candidateTools,
    unconditionallyDenied,
    effectiveTools: candidateTools.filter((id) => !unconditionallyDenied.includes(id)),
    argsConditionalRules: conditional.map(({ matcher, behavior }) => ({ tool: matcher.text, behavior })),
    warnings: conditional.flatMap(({ matcher }) =>
      candidateTools
        .filter((id) => matcher.matchesTool(id))
        .flatMap((id) =>
          impossiblePaths(matcher.pattern, tools.get(id)?.descriptor.parameters ?? {}).map(
            (path) => `rule '${matcher.text}': the input of '${id}' has no '${path}'`,
          ),
        ),
    ),
  };
}
