import { type Content, InferenceError, type MediaSource, type Message } from "@awaken/contract";
import type { Modality } from "@awaken/contract/spec";

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

/** Throws when the model does not read what is in one of the messages. */
export function refuseMedia(messages: readonly Message[], model: string, input: readonly Modality[]): void {
  const supported = new Set(input);
  for (const message of messages) {
    const modality = unsupportedIn(message, supported);
    if (modality === undefined) continue;
    const problem = `model '${model}' does not take ${modality} input; it takes ${input.join(", ")}`;
    throw new InferenceError({ type: "invalid-request", message: problem });
  }
}
