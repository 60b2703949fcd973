import type { Provider } from "@awaken/contract";

/** The provider with another way to stream. Observers and flags stay those of the provider inside. */
export function wrapProvider(provider: Omit<Provider, "stream">, stream: Provider["stream"]): Provider {
  const { name, canOverrideModel, observer } = provider;
  return {
    name,
    stream,
    ...(canOverrideModel === undefined ? {} : { canOverrideModel }),
    ...(observer === undefined ? {} : { observer }),
  };
}
