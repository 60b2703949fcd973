import type { Content, MediaContent } from "@awaken/contract";
import { isShown, notShown } from "../../routes/shown-media.ts";
import type { SteeringPart } from "./chunk.ts";

const urlOf = ({ source }: MediaContent): string => (source.type === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`);

/** A bare top-level type is legal where the address does not tell more. */
const mediaTypeOf = ({ type, source }: MediaContent): string =>
  source.mediaType ?? (type === "document" ? "application/octet-stream" : type);

/** What a person wrote and put beside it, as a page shows it. */
export function partsOf(content: readonly Content[]): readonly SteeringPart[] {
  return content.flatMap((part): readonly SteeringPart[] => {
    switch (part.type) {
      case "text":
        return [{ type: "text", text: part.text }];
      case "image":
      case "audio":
      case "video":
      case "document":
        return [isShown(part) ? { type: "file", mediaType: mediaTypeOf(part), url: urlOf(part) } : { type: "text", text: notShown(part) }];
      default:
        return [];
    }
  });
}
