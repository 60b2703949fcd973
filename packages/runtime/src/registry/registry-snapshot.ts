import type { RegistrySet } from "./registry-set.ts";
import { seldom } from "./seldom-door.ts";

/** One published set. Holding it keeps it as it is, whatever the handle publishes later. */
export class RegistrySnapshot {
  /** Counts what this handle published; it says nothing about single entries and is not kept anywhere. */
  readonly version: number;
  readonly registries: RegistrySet;

  constructor(version: number, registries: RegistrySet) {
    this.version = version;
    this.registries = registries;
    Object.freeze(this);
  }

  /** Changes with the agent's instructions; undefined for agents that are not here or run elsewhere. */
  async agentPromptId(id: string): Promise<string | undefined> {
    return (await seldom.open()).agentPromptId(this.registries, id);
  }

  /** Changes with what a model is told about the tool. */
  async toolDescId(id: string): Promise<string | undefined> {
    return (await seldom.open()).toolDescId(this.registries, id);
  }
}
