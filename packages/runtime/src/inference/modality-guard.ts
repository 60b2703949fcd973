import { type Content, InferenceError, type MediaSource, type Message, type Provider } from "@awaken/contract";
import type { Modality } from "@awaken/contract/spec";
import { wrapProvider } from "./wrap-provider.ts";

const PDF = "application/pdf";

function isPdf(source: MediaSource): boolean {
  if (source.mediaType !== undefined) return source.mediaType.split(";", 1)[0]?.trim().toLowerCase() === PDF;
  if (source.type !== "url") return false;
  const path = source.url.split(/[?#]/, 1)[0] ?? "";
  return path.toLowerCase().endsWith(".pdf");
}

/** What a model must be able to read to take this part; nothing for text, reasoning, calls and other documents. */
function modalityOf(part: Content): Modality | undefined {
  switch (part.type) {
    case "image":
    case "audio":
    case "video":
      return part.type;
    case "document":
      return isPdf(part.source) ? "pdf" : undefined;
    default:
      return undefined;
  }
}

function unsupportedIn(message: Message, supported: ReadonlySet<Modality>): Modality | undefined {
  for (const part of message.content) {
    const modality = modalityOf(part);
    if (modality !== undefined && !supported.has(modality)) return modality;
  }
  return undefined;
}

/**
 * Refuses what the model is known not to read, before the provider is asked. To be used with trusted modalities only: a guess
 * must not refuse a request. Without any, the provider is returned as it is.
 */
export function guardModalities(provider: Provider, input: readonly Modality[]): Provider {
  if (input.length === 0) return provider;
  const supported = new Set(input);
  // Messages never change, so each is looked at once.
  const passed = new WeakSet<Message>();
  return wrapProvider(provider, (request, options) => {
    for (const message of request.messages) {
      if (passed.has(message)) continue;
      const modality = unsupportedIn(message, supported);
      if (modality !== undefined) {
        const problem = `model '${request.model}' does not take ${modality} input; it takes ${input.join(", ")}`;
        throw new InferenceError({ type: "invalid-request", message: problem });
      }
      passed.add(message);
    }
    return provider.stream(request, options);
  });
}
