import {
  checkOptions,
  copyJson,
  isPlainObject,
  type Message,
  type MessageId,
  messageId,
  needed,
  type PartRules,
  partRule,
  RULES,
  reading,
  type UserContent,
  validateSync,
} from "@awaken/contract";
import { userPartsSchema } from "@awaken/contract/store";
import type { Ids } from "../stream/ids.ts";
import { INVALID, refuse } from "./refuse-request.ts";

/** A message as a caller writes it; the id is made when it is left out. One with the id of a logged message is that message, unless that was taken out of view. */
export interface MessageInput {
  /** Who says it. */
  readonly role: "user" | "assistant" | "system";
  /** Text, or parts with pictures and documents. */
  readonly content: string | readonly UserContent[];
  /** Makes it idempotent: a message that the log has already is not added again. */
  readonly id?: string;
}

/** A text, or messages. */
export type RequestInput = string | readonly MessageInput[] | undefined;

const MESSAGE: PartRules<MessageInput> = {
  role: needed(RULES.oneOf("user", "assistant", "system")),
  content: needed(partRule("a string or a list of parts", (value) => typeof value === "string" || Array.isArray(value))),
  id: RULES.name,
};

/** As JSON would have it: callers without our compiler settings may give `undefined` for what they leave out. */
const withoutUndefined = (value: unknown): unknown => {
  if (Array.isArray(value)) return Array.from(value, withoutUndefined);
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).flatMap(([name, item]) => (item === undefined ? [] : [[name, withoutUndefined(item)]])));
};

/** The parts of a message, each of them one that can be stored and sent: copies, what the caller does to its own from here on is its own. */
function readParts(content: readonly UserContent[], index: number): readonly UserContent[] {
  if (userPartsSchema.fits({ content }, 0)) return copyJson(content);
  const read = validateSync(userPartsSchema, { content: withoutUndefined(content) });
  if (read.type === "invalid") return refuse(`message ${index} of the input: ${read.message}`);
  return copyJson(read.value.content);
}

function toMessage(input: MessageInput, ids: Ids, index: number): Message {
  checkOptions(INVALID, `message ${index} of the input`, input, MESSAGE);
  const id = messageId(input.id ?? ids());
  const { content, role } = input;
  const parts: readonly UserContent[] = typeof content === "string" ? [{ type: "text", text: content }] : readParts(content, index);
  if (role === "system") return { id, role, content: parts.filter((part) => part.type === "text") };
  return { id, role, content: parts };
}

/** Throws on whatever is no input, of whatever make. */
export function toMessages(input: RequestInput, ids: Ids): readonly Message[] {
  if (input === undefined) return [];
  if (typeof input === "string") return [{ id: messageId(ids()), role: "user", content: [{ type: "text", text: input }] }];
  return reading(INVALID, "invalid activation: the input", () => {
    if (!Array.isArray(input)) return refuse("input must be a string or a list of messages");
    const list: readonly MessageInput[] = input;
    // A hole counts too.
    const messages = Array.from(list, (message, index) => toMessage(message, ids, index));
    if (new Set(messages.map((message) => message.id)).size < messages.length) refuse("a message id is there twice");
    return messages;
  });
}

const NO_IDS: readonly MessageId[] = Object.freeze([]);

export const namedMessages = (input: RequestInput = []): readonly MessageId[] =>
  typeof input === "string" ? NO_IDS : input.flatMap(({ id }) => (id === undefined ? [] : [messageId(id)]));
