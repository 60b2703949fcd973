import {
  AwakenError,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MediaContent,
  type ToolDescriptor,
  type UserContent,
} from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import type { AgUiDialect } from "./frame.ts";

const anything = s.exactOptional(s.json());
const text = s.exactOptional(s.nullable(s.string()));

/** What clients send; fields that nobody here reads are not looked at. */
export const runInputSchema = s.object({
  threadId: text,
  runId: text,
  agentId: text,
  protocolVersion: text,
  messages: s.exactOptional(s.array(s.json())),
  state: anything,
  context: anything,
  tools: anything,
  forwardedProps: anything,
  resume: anything,
});
export type RunInput = s.output<typeof runInputSchema>;

export const refuse = (why: string) => new AwakenError("invalid_activation", why);

/** An answer to an interrupt. */
export interface ResumeEntry {
  readonly interruptId: string;
  readonly isCancelled: boolean;
  readonly payload: JsonValue;
}

export type SaidMessage =
  | { readonly role: "user" | "system" | "assistant"; readonly id: string | undefined; readonly content: readonly UserContent[] }
  | { readonly role: "tool"; readonly id: string | undefined; readonly toolCallId: string; readonly result: JsonValue };

export interface AgUiRequest {
  readonly threadId: string | undefined;
  readonly agentId: string | undefined;
  /** The client's own name for this request. */
  readonly runId: string | undefined;
  readonly dialect: AgUiDialect;
  readonly messages: readonly SaidMessage[];
  readonly resume: readonly ResumeEntry[];
  readonly tools: readonly ToolDescriptor[];
  readonly shown: JsonObject | undefined;
  /** What the page sends along for tools and hooks. */
  readonly extras: JsonObject | undefined;
  readonly isCancelledWithStream: boolean;
}

const named = (value: string | null | undefined): string | undefined => value?.trim() || undefined;
const stringOf = (value: JsonValue | undefined): string | undefined => (typeof value === "string" && value !== "" ? value : undefined);

function kindOf(type: JsonValue | undefined, mimeType: string | undefined): MediaContent["type"] | undefined {
  if (type === "image" || type === "audio" || type === "video" || type === "document") return type;
  if (type !== "binary" || mimeType === undefined) return undefined;
  const [top] = mimeType.split("/");
  return top === "image" || top === "audio" || top === "video" ? top : "document";
}

function readPart(part: JsonValue): readonly UserContent[] {
  if (!isJsonObject(part)) return [];
  const said = stringOf(part["text"]);
  if (part["type"] === "text") return said === undefined ? [] : [{ type: "text", text: said }];
  const source = isJsonObject(part["source"]) ? part["source"] : part;
  if (source["type"] === "file") throw refuse("files that a provider keeps are not taken: send them as data or by their address");
  const mediaType = stringOf(source["mimeType"]);
  const type = kindOf(part["type"], mediaType);
  const [data, url] = [
    stringOf(source["type"] === "data" ? source["value"] : source["data"]),
    stringOf(source["type"] === "url" ? source["value"] : source["url"]),
  ];
  if (type === undefined) return [];
  if (data !== undefined && mediaType !== undefined) return [{ type, source: { type: "base64", mediaType, data } }];
  return url === undefined ? [] : [{ type, source: { type: "url", url, ...(mediaType === undefined ? undefined : { mediaType }) } }];
}

function readContent(content: JsonValue | undefined): readonly UserContent[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const parts: readonly JsonValue[] = Array.isArray(content) ? content : [];
  return parts.flatMap(readPart);
}

const onlyText = (content: readonly UserContent[]): readonly UserContent[] => content.filter(({ type }) => type === "text");

function parsed(content: JsonValue | undefined): JsonValue {
  if (typeof content !== "string") return content ?? null;
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}

function readMessage(given: JsonValue): readonly SaidMessage[] {
  if (!isJsonObject(given)) throw refuse("a message must be an object with a role");
  const { role, content } = given;
  const id = stringOf(given["id"]);
  if (role === "tool") {
    const toolCallId = stringOf(given["toolCallId"]);
    const error = stringOf(given["error"]);
    return toolCallId === undefined ? [] : [{ role, id, toolCallId, result: error === undefined ? parsed(content) : { error } }];
  }
  const read = readContent(content);
  if (role === "user") return read.length === 0 ? [] : [{ role, id, content: read }];
  const flat = onlyText(read);
  if (flat.length === 0) return [];
  if (role === "assistant") return [{ role, id, content: flat }];
  return role === "system" || role === "developer" ? [{ role: "system", id, content: flat }] : [];
}

function readEntry(given: JsonValue, isOld: boolean): ResumeEntry {
  const interruptId = isJsonObject(given) ? stringOf(given["interruptId"]) : undefined;
  if (!isJsonObject(given) || interruptId === undefined) throw refuse("an entry of resume needs an interruptId");
  const { status = isOld ? "resolved" : undefined, payload = null } = given;
  if (status !== "resolved" && status !== "cancelled") throw refuse("an entry of resume needs a status: resolved or cancelled");
  return { interruptId, isCancelled: status === "cancelled", payload };
}

function readResume(given: JsonValue | undefined): readonly ResumeEntry[] {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) return [readEntry(given, true)];
  const list: readonly JsonValue[] = given;
  return list.map((entry) => readEntry(entry, false));
}

const ANY_INPUT: JsonObject = { type: "object", properties: {} };

function readTools(given: JsonValue | undefined): readonly ToolDescriptor[] {
  const list: readonly JsonValue[] = Array.isArray(given) ? given : [];
  return list.flatMap((tool) => {
    const name = isJsonObject(tool) ? stringOf(tool["name"]) : undefined;
    if (!isJsonObject(tool) || name === undefined) throw refuse("a tool of the page needs a name");
    const { description, parameters } = tool;
    return [
      { id: name, description: stringOf(description) ?? "Frontend tool", parameters: isJsonObject(parameters) ? parameters : ANY_INPUT },
    ];
  });
}

/** Both, side by side: neither takes the place of the other. */
function readShown(state: JsonValue | undefined, context: JsonValue | undefined): JsonObject | undefined {
  const hasState = isJsonObject(state) ? Object.keys(state).length > 0 : state !== undefined && state !== null;
  const hasContext = Array.isArray(context) ? context.length > 0 : isJsonObject(context) && Object.keys(context).length > 0;
  if (!hasState && !hasContext) return undefined;
  return { ...(hasState ? { state: state ?? null } : undefined), ...(hasContext ? { context: context ?? null } : undefined) };
}

/** They are kept with the run and with each one below it. */
const MAX_EXTRAS_BYTES = 64 * 1024;

/** Any JSON; what is no object has a name of its own. */
function readExtras(props: JsonValue | undefined): JsonObject | undefined {
  if (props === undefined || props === null) return undefined;
  if (new TextEncoder().encode(JSON.stringify(props)).length > MAX_EXTRAS_BYTES)
    throw new AwakenError("payload_too_large", `forwardedProps may have ${MAX_EXTRAS_BYTES} bytes`, {
      details: { limit: MAX_EXTRAS_BYTES },
    });
  if (!isJsonObject(props)) return { forwardedProps: props };
  return Object.keys(props).length === 0 ? undefined : props;
}

export interface PathIds {
  readonly threadId?: string;
  readonly agentId?: string;
}

export function readRun(input: RunInput, path: PathIds): AgUiRequest {
  const { forwardedProps } = input;
  const props: JsonObject = isJsonObject(forwardedProps) ? forwardedProps : {};
  return {
    threadId: path.threadId ?? named(input.threadId),
    agentId: path.agentId ?? named(input.agentId) ?? stringOf(props["agentId"]),
    runId: named(input.runId),
    dialect: named(input.protocolVersion) === undefined ? "older" : "1.0",
    messages: (input.messages ?? []).flatMap(readMessage),
    resume: readResume(input.resume),
    tools: readTools(input.tools),
    shown: readShown(input.state, input.context),
    extras: readExtras(forwardedProps),
    isCancelledWithStream: props["cancelOnDisconnect"] === true,
  };
}
