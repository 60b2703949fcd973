import { type AgentEvent, isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import type { Chunk } from "./chunk.ts";
import type { EventOf } from "./shown-calls.ts";

const NONE: readonly Chunk[] = [];

const textOf = (content: JsonObject, name: string): string | undefined => {
  const value = content[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** What pages have parts of their own for. */
function sourceOf(activityType: string, messageId: string, content: JsonValue): readonly Chunk[] {
  if (!isJsonObject(content)) return NONE;
  const [url, mediaType, title, filename] = ["url", "mediaType", "title", "filename"].map((name) => textOf(content, name));
  const sourceId = textOf(content, "sourceId") ?? messageId;
  if (activityType === "source-url" && url !== undefined) {
    return [{ type: "source-url", sourceId, url, ...(title === undefined ? undefined : { title }) }];
  }
  if (activityType === "source-document" && mediaType !== undefined && title !== undefined) {
    return [{ type: "source-document", sourceId, mediaType, title, ...(filename === undefined ? undefined : { filename }) }];
  }
  return activityType === "file" && url !== undefined && mediaType !== undefined ? [{ type: "file", url, mediaType }] : NONE;
}

function snapshotOf({ messageId, activityType, content, replace }: EventOf<"activity-snapshot">): readonly Chunk[] {
  const data = { messageId, activityType, content, ...(replace === undefined ? undefined : { replace }) };
  return [...sourceOf(activityType, messageId, content), { type: "data-activity-snapshot", id: messageId, data }];
}

/** What is said beside the answer. */
export function activityChunks(event: AgentEvent): readonly Chunk[] {
  switch (event.type) {
    case "activity-snapshot":
      return snapshotOf(event);
    case "state-snapshot": {
      const { extensions } = event.snapshot;
      return Object.keys(extensions).length === 0 ? NONE : [{ type: "data-state-snapshot", id: "state", data: extensions }];
    }
    case "inference-end": {
      const { model, usage, durationMs } = event;
      return [{ type: "data-inference-end", data: { model, usage: { ...usage }, durationMs }, transient: true }];
    }
    default:
      return NONE;
  }
}
