import type {
  ProviderInput,
  ProviderRemovalImpact,
  ProviderRemovalPolicy,
  ProviderRemovalPreview,
  RegistryDraft,
  RegistryHandle,
  RegistrySnapshot,
} from "@awaken/runtime";
import { type AnyProvider, toProvider } from "./to-provider.ts";

/** The runtime's registry, which takes AI SDK providers too. Every write gives the new version, or throws and changes nothing. */
export class Registry {
  readonly #handle: RegistryHandle;

  constructor(handle: RegistryHandle) {
    this.#handle = handle;
  }

  get version(): number {
    return this.#handle.version;
  }

  snapshot(): RegistrySnapshot {
    return this.#handle.snapshot();
  }

  /** Publishes what the function writes into the draft. In a draft, providers are given as `fromAiSdk(provider)`. */
  update(edit: (draft: RegistryDraft) => void): number {
    return this.#handle.update(edit);
  }

  updateAsync(edit: (draft: RegistryDraft) => Promise<void>): Promise<number> {
    return this.#handle.updateAsync(edit);
  }

  registerProvider(id: string, provider: AnyProvider): number {
    return this.#handle.registerProvider(id, this.#read(provider));
  }

  replaceProvider(id: string, provider: AnyProvider): number {
    return this.#handle.replaceProvider(id, this.#read(provider));
  }

  previewRemoveProvider(id: string): ProviderRemovalPreview {
    return this.#handle.previewRemoveProvider(id);
  }

  removeProvider(id: string, policy: ProviderRemovalPolicy): ProviderRemovalImpact {
    return this.#handle.removeProvider(id, policy);
  }

  #read(provider: AnyProvider): ProviderInput {
    return toProvider(provider);
  }
}
