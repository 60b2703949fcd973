import type { Provider } from "@awaken/contract";
import { seldom } from "./seldom-door.ts";
import { wrapProvider } from "./wrap-provider.ts";

/** A model API that answers in one piece. */
export type CompletingProvider = Omit<Provider, "stream"> & Required<Pick<Provider, "complete">>;

/** Makes a stream of an answer that comes in one piece. */
export function deriveStream(provider: CompletingProvider): Provider {
  return wrapProvider(provider, async (request, options) => {
    const turn = await provider.complete(request, options);
    return (await seldom.open()).turnStream(turn);
  });
}
