import { AwakenError, isJsonObject } from "@awaken/contract";
import type { LocalAgentSpec } from "@awaken/contract/spec";
import { clampContext } from "../inference/clamp-context.ts";
import { freezeDeep } from "../registry/freeze.ts";
import type { RegistrySet } from "../registry/registry-set.ts";
import type { ServedModel } from "./serve-model.ts";

const COMPACTION = "compaction";

/** The upstream name of the model that writes summaries, if the agent names a registered one. It is asked through the agent's provider. */
function summaryModel(set: RegistrySet, agent: LocalAgentSpec, served: ServedModel): string | undefined {
  const section = agent.sections[COMPACTION];
  if (!isJsonObject(section)) return undefined;
  const { summaryModel: name } = section;
  const model = typeof name === "string" ? set.models.get(name) : undefined;
  if (model === undefined || model.provider === served.providerId) return model?.model;
  const why = `summaryModel '${model.id}' is served by '${model.provider}', the agent's own model by '${served.providerId}'`;
  throw new AwakenError("invalid_plugin_config", `invalid config for plugin context_compaction: section "${COMPACTION}" — ${why}`, {
    details: { agentId: agent.id, section: COMPACTION },
  });
}

/** The agent as it runs on this model: its context policy narrowed to what the model holds, its summary model by upstream name. */
export function fitAgent(set: RegistrySet, agent: LocalAgentSpec, served: ServedModel): LocalAgentSpec {
  const summary = summaryModel(set, agent, served);
  const { contextPolicy, sections } = agent;
  if (contextPolicy === undefined && summary === undefined) return agent;
  const section = sections[COMPACTION];
  return freezeDeep({
    ...agent,
    ...(contextPolicy === undefined ? {} : { contextPolicy: clampContext(contextPolicy, served.capabilities.known) }),
    sections:
      summary === undefined
        ? sections
        : { ...sections, [COMPACTION]: { ...(isJsonObject(section) ? section : {}), summaryModel: summary } },
  });
}
