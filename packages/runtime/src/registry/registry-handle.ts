import { AwakenError, describeType } from "@awaken/contract";
import type { AgentSpec } from "@awaken/contract/spec";
import type { Capabilities } from "../inference/capabilities.ts";
import { type OpenDraft, openDraft } from "./draft.ts";
import { editSet } from "./edit-set.ts";
import type { ProviderInput } from "./provider-entry.ts";
import { checkId } from "./read-entry.ts";
import { type RegistryRebuild, rebuildAgentModelProvider } from "./rebuild.ts";
import { checkSet, type RegistryDraft, type RegistrySet } from "./registry-set.ts";
import { RegistrySnapshot } from "./registry-snapshot.ts";
import {
  type ProviderRemovalImpact,
  type ProviderRemovalPolicy,
  type ProviderRemovalPreview,
  planProviderRemoval,
  previewProviderRemoval,
  providerNotFound,
} from "./remove-provider.ts";

const refuse = (problem: string): never => {
  throw new AwakenError("registry_build_failed", `registry build failed: ${problem}`);
};

function checkEdit(edit: unknown): void {
  if (typeof edit !== "function") refuse(`an update takes a function, got ${describeType(edit)}`);
}

/** Throws what is wrong with these agents of a set, all of it in one error. */
export type CheckAgents = (set: RegistrySet, agents: Iterable<AgentSpec>) => void;

/**
 * Where the current registries are published. Readers never wait. A write publishes the next version, whole and valid, and
 * returns its number; or it throws and publishes nothing.
 */
export class RegistryHandle {
  #current: RegistrySnapshot;
  /** The asynchronous updates, one after the other. Never rejects. */
  #updates: Promise<unknown> = Promise.resolve();
  /** Whether what is published is known to be valid. */
  #isValid = false;
  readonly #check: CheckAgents;

  /** `check` throws what is wrong with agents of a set that is about to be published. */
  constructor(set: RegistrySet, check: CheckAgents = () => {}) {
    this.#current = new RegistrySnapshot(1, Object.freeze(set));
    this.#check = check;
  }

  /** Rises by one with every change that was published. */
  get version(): number {
    return this.#current.version;
  }

  /** What is published now. It stays as it is whatever is published later. */
  snapshot(): RegistrySnapshot {
    return this.#current;
  }

  /** Publishes a set as it is, valid or not. */
  replace(set: RegistrySet): number {
    checkSet(set);
    this.#current = new RegistrySnapshot(this.version + 1, Object.freeze(set));
    this.#isValid = false;
    return this.version;
  }

  /** Publishes what the function writes into the draft, if it does not throw. It must not be async: see `updateAsync`. */
  update(edit: (draft: RegistryDraft) => void): number {
    checkEdit(edit);
    const open = openDraft(this.#current.registries);
    try {
      const returned: unknown = edit(open.draft);
      if (returned instanceof Promise) {
        returned.catch(() => {});
        refuse("update takes a synchronous function, updateAsync an async one");
      }
    } finally {
      open.close();
    }
    return this.#publish(open);
  }

  /**
   * As `update`, for a function that has to wait. Such updates run one after the other. Others may publish while this one waits;
   * if one of them changed an entry that is changed here too, this one rejects.
   */
  updateAsync(edit: (draft: RegistryDraft) => Promise<void>): Promise<number> {
    const update = this.#updates.then(async () => {
      checkEdit(edit);
      const open = openDraft(this.#current.registries);
      try {
        await edit(open.draft);
      } finally {
        open.close();
      }
      return this.#publish(open);
    });
    this.#updates = update.catch(() => {});
    return update;
  }

  /** A provider under a new id. */
  registerProvider(id: string, provider: ProviderInput): number {
    checkId("provider", id);
    if (this.#current.registries.providers.has(id)) {
      throw new AwakenError("provider_already_exists", `provider already registered: ${id}`, { details: { providerId: id } });
    }
    return this.#putProvider(id, provider);
  }

  /** What was known about the old one is forgotten; models and agents keep their reference. */
  replaceProvider(id: string, provider: ProviderInput): number {
    this.#findProvider(id);
    return this.#putProvider(id, provider);
  }

  /** Replaces everything that the provider's model list said before, by upstream model name. */
  setCapabilities(id: string, discovered: ReadonlyMap<string, Capabilities>): number {
    if (discovered === undefined) refuse("capabilities must be a map by model name, got nothing");
    return this.#putProvider(id, { ...this.#findProvider(id), discovered });
  }

  /** What stands on a provider. Changes nothing. */
  previewRemoveProvider(id: string): ProviderRemovalPreview {
    return previewProviderRemoval(this.#current.registries, id);
  }

  /** Removes a provider, with what the policy allows to go along; throws when something still stands on it. */
  removeProvider(id: string, policy: ProviderRemovalPolicy): ProviderRemovalImpact {
    const impact = planProviderRemoval(this.#current.registries, id, policy);
    this.update((draft) => {
      for (const model of impact.removedModelIds) delete draft.models[model];
      delete draft.providers[id];
    });
    return impact;
  }

  /** Publishes other providers, models and agents in place of all there are. */
  rebuildAgentModelProvider(update: RegistryRebuild): number {
    const next = rebuildAgentModelProvider(this.#current.registries, update);
    this.#check(next, next.agents.values());
    return this.#replaceValid(next);
  }

  /** An agent can break by a change of its own, or of what it is made of. */
  #publish(edited: OpenDraft): number {
    const next = editSet({ set: this.#current.registries, isValid: this.#isValid }, edited);
    const { tools, plugins, agents } = edited.changes;
    const isWide = tools.size > 0 || plugins.size > 0;
    this.#check(next, isWide ? next.agents.values() : [...agents.keys()].flatMap((id) => next.agents.get(id) ?? []));
    return this.#replaceValid(next);
  }

  #replaceValid(set: RegistrySet): number {
    const version = this.replace(set);
    this.#isValid = true;
    return version;
  }

  #findProvider(id: string) {
    checkId("provider", id);
    const entry = this.#current.registries.providers.get(id);
    if (entry === undefined) throw providerNotFound(id);
    return entry;
  }

  #putProvider(id: string, provider: ProviderInput): number {
    return this.update((draft) => {
      draft.providers[id] = provider;
    });
  }
}
