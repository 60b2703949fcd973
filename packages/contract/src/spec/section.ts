import { AwakenError } from "../error.ts";
import { type Schema, validateSync } from "../schema.ts";
import type { LocalAgentSpec } from "./agent.ts";

/** A section as its owner declares it. */
export interface SectionKey<T> {
  readonly name: string;
  readonly schema: Schema<T>;
  readonly initial: () => T;
}

/** The agent's section, or the key's default when it has none. A section that is there must be valid. */
export function readSection<T>(spec: LocalAgentSpec, key: SectionKey<T>): T {
  if (!Object.hasOwn(spec.sections, key.name)) return key.initial();
  const result = validateSync(key.schema, spec.sections[key.name]);
  if (result.type === "valid") return result.value;
  throw new AwakenError("invalid_plugin_config", `section '${key.name}' of agent '${spec.id}' is invalid: ${result.message}`, {
    details: { agentId: spec.id, section: key.name },
  });
}
