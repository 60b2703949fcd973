import {
  type AgentEvent,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaContent,
  type Ticket,
  type ToolResult,
} from "@awaken/contract";
import { parsed } from "../../routes/retelling.ts";
import type { CallFlags, Chunk } from "./chunk.ts";
import { partsOf } from "./user-parts.ts";

export type EventOf<T extends AgentEvent["type"]> = Extract<AgentEvent, { type: T }>;

/** A call of the message that is being shown. */
export interface ShownCall {
  readonly toolCallId: string;
  readonly toolName: string;
  flags: CallFlags;
  /** Whether it can still have an outcome: it runs, or it waits. */
  isOpen: boolean;
  /** Its input was shown whole. */
  isReady: boolean;
  /** What a running tool streamed. */
  streamed: string;
  /** The approval that the page can give now. */
  approvalId: string | undefined;
  /** Whether that was answered, as far as the page was told. */
  isAnswered: boolean;
  /** Tickets of runs below that wait for their turn: a part has room for one approval. */
  waiting: Ticket[];
  /** What became of it, to be said again. */
  outcome: readonly Chunk[];
}

export const newCall = (toolCallId: string, toolName: string, flags: CallFlags): ShownCall => ({
  toolCallId,
  toolName,
  flags,
  isOpen: true,
  isReady: false,
  streamed: "",
  approvalId: undefined,
  isAnswered: false,
  waiting: [],
  outcome: [],
});

const DEFAULT_ERROR = "tool execution error";

const orError = (text: string): string => (text.trim() === "" ? DEFAULT_ERROR : text);

/** What a failed call says, in words. */
export function errorTextOf(result: JsonValue): string {
  if (typeof result === "string") return orError(result);
  if (!isJsonObject(result)) return DEFAULT_ERROR;
  for (const name of ["error", "message", "reason"]) {
    const said = result[name];
    if (typeof said === "string") return orError(said);
  }
  return orError(JSON.stringify(result));
}

const isEmpty = (value: JsonObject | undefined): boolean => value === undefined || Object.keys(value).length === 0;

/** `undefined` is nothing that travels. */
const orNull = (value: JsonValue | undefined): JsonValue => value ?? null;

/**
 * Media are shown once: the data of a tool with a text for the model may have them, too, so the text stands beside them, which is what the
 * log keeps.
 */
const besideMedia = (data: JsonValue | undefined, message: string | undefined): JsonValue | undefined =>
  message === undefined ? data : parsed(message);

/** The data alone where there is nothing beside it. Media are as the SDK has files, so that a page shows them as it shows those. */
function outputOf(data: JsonValue | undefined, metadata: JsonObject | undefined, media: readonly MediaContent[] = []): JsonValue {
  if (isEmpty(metadata) && media.length === 0) return orNull(data);
  return {
    data: orNull(data),
    ...(metadata === undefined || isEmpty(metadata) ? undefined : { metadata }),
    ...(media.length === 0 ? undefined : { media: [...partsOf(media)] }),
  };
}

/** A result that was given late has its metadata beside its data already. */
function lateOutput({ result, message, media = [] }: EventOf<"tool-call-resumed">): JsonValue {
  if (media.length === 0) return orNull(result);
  const { data, metadata, ...more } = isJsonObject(result) ? result : {};
  const isBoth = data !== undefined && isJsonObject(metadata) && Object.keys(more).length === 0;
  return isBoth ? outputOf(besideMedia(data, message), metadata, media) : outputOf(besideMedia(result, message), undefined, media);
}

/** The last chunk of a call that is over; none for one that waits. */
export function outcomeOf({ toolCallId, flags }: ShownCall, result: ToolResult): readonly Chunk[] {
  switch (result.type) {
    case "success": {
      const { data, message, metadata, media = [] } = result;
      const output = outputOf(media.length === 0 ? data : besideMedia(data, message), metadata, media);
      return [{ type: "tool-output-available", toolCallId, output, ...flags }];
    }
    case "error":
      return [{ type: "tool-output-error", toolCallId, errorText: orError(result.message), ...flags }];
    case "pending":
      return [];
  }
}

export function resumedOutcome({ toolCallId, flags }: ShownCall, event: EventOf<"tool-call-resumed">): Chunk {
  switch (event.outcome) {
    case "succeeded":
      return { type: "tool-output-available", toolCallId, output: lateOutput(event), ...flags };
    case "failed":
      return { type: "tool-output-error", toolCallId, errorText: errorTextOf(event.result), ...flags };
    case "denied":
      return { type: "tool-output-denied", toolCallId };
  }
}

export function descriptorOf(asked: Pick<Ticket, "action" | "parameters" | "responseSchema" | "canEdit">): JsonObject {
  const { action, parameters, responseSchema, canEdit } = asked;
  return {
    action,
    ...(parameters === undefined ? undefined : { parameters }),
    ...(responseSchema === undefined ? undefined : { responseSchema }),
    ...(canEdit === undefined ? undefined : { canEdit }),
  };
}

/** What a run below asks: the page sees the call itself, which is in no message of its own. */
export const descriptorBelow = (ticket: Ticket): JsonObject => ({
  ...descriptorOf(ticket),
  toolName: ticket.toolName,
  input: ticket.input,
  threadId: ticket.threadId,
  runId: ticket.runId,
  ...(ticket.agentPath === undefined ? undefined : { agentPath: ticket.agentPath }),
});
