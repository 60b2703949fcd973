import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import type { VendorName } from "./vendors.ts";

const list = (value: JsonValue | undefined): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);

/** One message as a vendor sees it. */
interface Seen {
  readonly role: string;
  readonly calls: readonly string[];
  readonly results: readonly string[];
  /** Neither call nor result. */
  readonly others: number;
  /** Results come before everything else. */
  readonly isInOrder: boolean;
  readonly hasEmptyText: boolean;
}

const ids = (parts: readonly JsonObject[], type: string, name: string): string[] =>
  parts.filter((part) => part["type"] === type).map((part) => String(part[name]));

function seeAnthropic({ messages }: JsonObject): Seen[] {
  return list(messages).map(({ role, content }) => {
    const parts = list(content);
    const calls = ids(parts, "tool_use", "id");
    const results = ids(parts, "tool_result", "tool_use_id");
    return {
      role: String(role),
      calls,
      results,
      others: parts.length - calls.length - results.length,
      isInOrder: parts.findLastIndex(({ type }) => type === "tool_result") === results.length - 1,
      hasEmptyText: parts.some(({ type, text }) => type === "text" && text === ""),
    };
  });
}

function seeGoogle({ contents }: JsonObject): Seen[] {
  return list(contents).map(({ role, parts: given }) => {
    const parts = list(given);
    const named = (field: string) =>
      parts.flatMap((part) => {
        const value = part[field];
        return value !== undefined && isJsonObject(value) ? [String(value["name"])] : [];
      });
    const calls = named("functionCall");
    const results = named("functionResponse");
    return {
      role: String(role),
      calls,
      results,
      others: parts.length - calls.length - results.length,
      isInOrder: true,
      hasEmptyText: parts.some(({ text }) => text === ""),
    };
  });
}

const sorted = (names: readonly string[]): string => names.toSorted().join();

/** Anthropic and Google: the user begins, roles take turns, and the answer to calls is the results of all of them. */
function brokenTurns(messages: readonly Seen[], answers: "assistant" | "model"): string | undefined {
  if (messages[0]?.role !== "user") return "the first message must use the user role";
  if (messages[0].results.length > 0) return "the first message has results";
  for (const [index, { role, calls, results, isInOrder, hasEmptyText }] of messages.entries()) {
    const before = messages[index - 1];
    if (role === before?.role) return `message ${index}: roles must alternate`;
    if (hasEmptyText) return `message ${index}: text must not be empty`;
    if (role === answers && results.length > 0) return `message ${index}: results are not the model's`;
    if (role !== answers && calls.length > 0) return `message ${index}: calls are the model's`;
    if (role === "user" && sorted(results) !== sorted(before?.calls ?? []))
      return `message ${index}: results of [${results}] behind calls of [${before?.calls ?? []}]`;
    if (!isInOrder) return `message ${index}: results must come first`;
  }
  return messages.at(-1)?.role === "user" ? undefined : "the last message must use the user role";
}

/** Google takes results and what the user says next as two turns; a call stands behind a turn of the user or of results. */
function mergeGoogle(messages: readonly Seen[]): Seen[] {
  const merged: Seen[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (last?.role === "user" && message.role === "user" && last.results.length > 0 && last.others === 0 && message.results.length === 0)
      merged[merged.length - 1] = { ...last, others: message.others };
    else merged.push(message);
  }
  return merged;
}

/** OpenAI takes turns of any order, but no call without a result behind it and no result without a call before it. */
function brokenOpenai({ input }: JsonObject): string | undefined {
  const open = new Set<string>();
  for (const { type, call_id, role } of list(input)) {
    if (type === "function_call") open.add(String(call_id));
    else if (type === "function_call_output") {
      if (!open.delete(String(call_id))) return `No tool call found for function call output with call_id ${call_id}.`;
    } else if (open.size > 0 && (role === "user" || role === "system")) return `No tool output found for function call ${[...open]}.`;
  }
  return open.size === 0 ? undefined : `No tool output found for function call ${[...open]}.`;
}

/** What the vendor would refuse in this request, in its strictest form. */
export function brokenRule(vendor: VendorName, body: JsonObject): string | undefined {
  switch (vendor) {
    case "openai":
      return brokenOpenai(body);
    case "anthropic":
      return brokenTurns(seeAnthropic(body), "assistant");
    case "google":
      return brokenTurns(mergeGoogle(seeGoogle(body)), "model");
  }
}

/** How the vendors say that a request is too long. */
export const TOO_LONG: Readonly<Record<VendorName, string>> = {
  openai: "Your input exceeds the context window of this model. Please adjust your input and try again.",
  anthropic: "prompt is too long: 208310 tokens > 200000 maximum",
  google: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
};
