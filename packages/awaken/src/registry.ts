import { reading } from "@awaken/contract";
import {
  type Capabilities,
  type RegistryRebuild as CoreRebuild,
  type ProviderRemovalImpact,
  type ProviderRemovalPolicy,
  type ProviderRemovalPreview,
  type RegistryDraft,
  type RegistryHandle,
  type RegistrySet,
  type RegistrySnapshot,
  rebuildAgentModelProvider as rebuildCore,
} from "@awaken/runtime";
import { type AnyProvider, toProvider, toProviders } from "./to-provider.ts";

/** Other providers, models and agents. Providers may be the AI SDK's; pools that are not given stay as they are. */
export interface RegistryRebuild extends Omit<CoreRebuild, "providers"> {
  /** All that there shall be: a provider that is not here is gone. */
  readonly providers: { readonly [id: string]: AnyProvider };
}

const toCore = (update: RegistryRebuild): CoreRebuild =>
  reading("registry_build_failed", "registry build failed: a rebuild", () => ({ ...update, providers: toProviders(update.providers) }));

/** A valid set with other providers, models and agents; tools, plugins and backends stay. `registry.replace` publishes it. */
export const rebuildAgentModelProvider = (base: RegistrySet, update: RegistryRebuild): RegistrySet => rebuildCore(base, toCore(update));

/** The runtime's registry, which takes AI SDK providers too. Every write gives the new version, or throws and changes nothing. */
export class Registry {
  readonly #handle: RegistryHandle;

  constructor(handle: RegistryHandle) {
    this.#handle = handle;
  }

  /** Rises by one with every change that was published. */
  get version(): number {
    return this.#handle.version;
  }

  /** What is published now. It stays as it is whatever is published later. */
  snapshot(): RegistrySnapshot {
    return this.#handle.snapshot();
  }

  /** Publishes a set as it is, valid or not. */
  replace(set: RegistrySet): number {
    return this.#handle.replace(set);
  }

  /** Publishes what the function writes into the draft. In a draft, providers are given as `fromAiSdk(provider)`. */
  update(edit: (draft: RegistryDraft) => void): number {
    return this.#handle.update(edit);
  }

  /** The same, for a function that has to wait. */
  updateAsync(edit: (draft: RegistryDraft) => Promise<void>): Promise<number> {
    return this.#handle.updateAsync(edit);
  }

  /** A provider under a new id. */
  registerProvider(id: string, provider: AnyProvider): number {
    return this.#handle.registerProvider(id, toProvider(provider));
  }

  /** Another provider under a known id. Models and agents keep their reference. */
  replaceProvider(id: string, provider: AnyProvider): number {
    return this.#handle.replaceProvider(id, toProvider(provider));
  }

  /** What the provider's model list says, by upstream model name; it takes the place of what was known before. */
  setCapabilities(id: string, discovered: ReadonlyMap<string, Capabilities>): number {
    return this.#handle.setCapabilities(id, discovered);
  }

  /** What stands on a provider. Changes nothing. */
  previewRemoveProvider(id: string): ProviderRemovalPreview {
    return this.#handle.previewRemoveProvider(id);
  }

  /** Removes a provider, with what the policy allows to go along; throws when something still stands on it. */
  removeProvider(id: string, policy: ProviderRemovalPolicy): ProviderRemovalImpact {
    return this.#handle.removeProvider(id, policy);
  }

  /** Publishes other providers, models and agents in place of all there are. */
  rebuildAgentModelProvider(update: RegistryRebuild): number {
    return this.#handle.rebuildAgentModelProvider(toCore(update));
  }
}
