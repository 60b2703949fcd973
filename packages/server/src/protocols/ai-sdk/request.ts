import { AwakenError, isJsonObject, type JsonObject, type JsonValue, type ToolDescriptor } from "@awaken/contract";
import * as s from "@awaken/contract/schema";
import { DIALECTS, type Dialect } from "./chunk.ts";

const anything = s.exactOptional(s.json());
const text = s.exactOptional(s.nullable(s.string()));

/** What the transports of the SDK send, and what apps put beside it: fields that nobody here reads are not looked at. */
export const chatBodySchema = s.object({
  id: text,
  threadId: text,
  agentId: text,
  messages: s.exactOptional(s.array(s.json())),
  message: anything,
  trigger: text,
  messageId: text,
  state: anything,
  tools: anything,
  sdk: anything,
});
export type ChatBody = s.output<typeof chatBodySchema>;

export const refuse = (why: string) => new AwakenError("invalid_activation", why);

/** A UI message of the client, as far as it is one. */
export interface ClientMessage {
  readonly id: string | undefined;
  readonly role: string;
  readonly parts: readonly JsonObject[];
}

function readMessage(given: JsonValue): ClientMessage {
  if (!isJsonObject(given) || typeof given["role"] !== "string") throw refuse("a message must be an object with a role and parts");
  const { id, role, parts = [] } = given;
  if (!Array.isArray(parts)) throw refuse("the parts of a message must be a list");
  const list: readonly JsonValue[] = parts;
  return { id: typeof id === "string" && id.trim() !== "" ? id : undefined, role: String(role), parts: list.filter(isJsonObject) };
}

/** What is asked for, in whatever form it came. */
export interface ChatRequest {
  /** Absent for a thread that is made now. */
  readonly threadId: string | undefined;
  readonly agentId: string | undefined;
  readonly dialect: Dialect;
  readonly messages: readonly ClientMessage[];
  readonly isRegenerate: boolean;
  /** The message that is edited, continued or answered again. */
  readonly messageId: string | undefined;
  readonly tools: readonly ToolDescriptor[];
  readonly state: JsonObject | undefined;
}

const named = (value: string | null | undefined): string | undefined => value?.trim() || undefined;

const isDialect = (value: unknown): value is Dialect => DIALECTS.some((dialect) => dialect === value);

export function readDialect(query: string | undefined, body?: JsonValue): Dialect {
  const asked = query ?? body;
  if (asked === undefined || asked === null) return 7;
  const dialect = typeof asked === "string" ? Number(asked) : asked;
  if (!isDialect(dialect)) throw refuse(`sdk must be one of ${DIALECTS.join(", ")}`);
  return dialect;
}

const TRIGGERS: ReadonlySet<string> = new Set(["submit-message", "regenerate-message", "resume-stream"]);

const ANY_INPUT: JsonObject = { type: "object", properties: {} };

/** Tools that the page runs. */
export function readTools(given: JsonValue | undefined): readonly ToolDescriptor[] {
  if (given === undefined || given === null) return [];
  if (!Array.isArray(given)) throw refuse("tools must be a list of { name, description?, parameters? }");
  const list: readonly JsonValue[] = given;
  return list.map((tool) => {
    if (!isJsonObject(tool) || typeof tool["name"] !== "string" || tool["name"].trim() === "")
      throw refuse("a tool of the page needs a name");
    const { name, description, parameters } = tool;
    return {
      id: name,
      description: typeof description === "string" && description.trim() !== "" ? description : "Frontend tool",
      parameters: isJsonObject(parameters) ? parameters : ANY_INPUT,
    };
  });
}

export interface PathIds {
  readonly threadId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly sdk?: string | undefined;
}

export function readChat(body: ChatBody, path: PathIds): ChatRequest {
  const { messages, message, trigger, state } = body;
  if (named(trigger) !== undefined && !TRIGGERS.has(named(trigger) ?? "")) throw refuse(`there is no trigger '${trigger}'`);
  const given = messages ?? (message === undefined || message === null ? [] : [message]);
  return {
    threadId: path.threadId ?? named(body.threadId) ?? named(body.id),
    agentId: path.agentId ?? named(body.agentId),
    dialect: readDialect(path.sdk, body.sdk),
    messages: given.map(readMessage),
    isRegenerate: named(trigger) === "regenerate-message",
    messageId: named(body.messageId),
    tools: readTools(body.tools),
    state: isJsonObject(state) && Object.keys(state).length > 0 ? state : undefined,
  };
}
