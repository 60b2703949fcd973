import type { Message, Provider } from "@awaken/contract";
import type { Modality } from "@awaken/contract/spec";
import { seldom } from "./seldom-door.ts";
import { wrapProvider } from "./wrap-provider.ts";

const hasMedia = ({ content }: Message): boolean => content.some((part) => "source" in part);

/**
 * Refuses what the model is known not to read, before the provider is asked. To be used with trusted modalities only: a guess
 * must not refuse a request. Without any, the provider is returned as it is.
 */
export function guardModalities(provider: Provider, input: readonly Modality[]): Provider {
  if (input.length === 0) return provider;
  // Messages never change, so each is looked at once.
  const passed = new WeakSet<Message>();
  return wrapProvider(provider, (request, options) => {
    const media = request.messages.filter((message) => !passed.has(message) && hasMedia(message));
    const ask = () => {
      for (const message of request.messages) passed.add(message);
      return provider.stream(request, options);
    };
    if (media.length === 0) return ask();
    return Promise.resolve(seldom.open()).then(({ refuseMedia }) => {
      refuseMedia(media, request.model, input);
      options.signal.throwIfAborted();
      return ask();
    });
  });
}
