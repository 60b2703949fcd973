import { isJsonObject, type JsonObject, type JsonValue } from "@awaken/contract";
import { itemsIn } from "./task.ts";
import type { VendorName } from "./vendors.ts";

/** What matters of a request's history: calls, their results, and whatever else the model or somebody else said. */
type Token =
  | { readonly type: "call" | "result"; readonly id: string; readonly item: string | undefined }
  | { readonly type: "said" }
  | { readonly type: "other" };

const SAID: Token = { type: "said" };
const OTHER: Token = { type: "other" };

const list = (value: JsonValue | undefined): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
const token = (type: "call" | "result", id: string, part: JsonObject): Token => ({ type, id, item: itemsIn(JSON.stringify(part))[0] });

function openaiTokens({ input }: JsonObject): Token[] {
  return list(input).map((item) => {
    const { type, role, call_id } = item;
    if (type === "function_call") return token("call", text(call_id), item);
    if (type === "function_call_output") return token("result", text(call_id), item);
    return role === "assistant" || type === "reasoning" ? SAID : OTHER;
  });
}

function anthropicTokens({ messages }: JsonObject): Token[] {
  return list(messages).flatMap(({ role, content }) =>
    list(content).map((block) => {
      if (block["type"] === "tool_use") return token("call", text(block["id"]), block);
      if (block["type"] === "tool_result") return token("result", text(block["tool_use_id"]), block);
      return role === "assistant" ? SAID : OTHER;
    }),
  );
}

/** Without ids a result answers the first open call of its name. */
function googleTokens({ contents }: JsonObject): Token[] {
  return list(contents).flatMap(({ role, parts }) =>
    list(parts).map((part) => {
      const { functionCall: call, functionResponse: result } = part;
      if (call !== undefined && isJsonObject(call)) return token("call", text(call["id"] ?? call["name"]), call);
      if (result !== undefined && isJsonObject(result)) return token("result", text(result["id"] ?? result["name"]), result);
      return role === "model" ? SAID : OTHER;
    }),
  );
}

const TOKENS: Readonly<Record<VendorName, (body: JsonObject) => Token[]>> = {
  openai: openaiTokens,
  anthropic: anthropicTokens,
  google: googleTokens,
};

/** Counts the calls of a request; throws unless each has exactly one result, right after the message it is in, about the same thing. */
export function checkAnswered(vendor: VendorName, body: JsonObject): number {
  const open: Extract<Token, { readonly id: string }>[] = [];
  let calls = 0;
  let isAnswering = false;
  const fail = (why: string): never => {
    throw new Error(`${vendor}: ${why} in ${JSON.stringify(body)}`);
  };
  for (const next of [...TOKENS[vendor](body), OTHER]) {
    if (next.type === "result") {
      const place = open.findIndex(({ id }) => id === next.id);
      const [call] = place < 0 ? [] : open.splice(place, 1);
      if (call === undefined) return fail(`the result of '${next.id}' answers no open call`);
      if (call.item !== next.item) fail(`'${next.id}' asked for ${call.item} and got ${next.item}`);
      isAnswering = true;
      continue;
    }
    if (open.length > 0 && (isAnswering || next.type === "other")) fail(`${open.length} calls have no result beside them`);
    isAnswering = false;
    if (next.type !== "call") continue;
    open.push(next);
    calls += 1;
  }
  return calls;
}
