import { errorMessage, isJsonObject, type JsonObject, type JsonValue, messageId, toJson } from "@awaken/contract";
import type { HostModel } from "@awaken/runtime";
import type { Client, ClientCapabilities } from "@modelcontextprotocol/client";
import type { Sdk } from "./load-sdk.ts";
import type { ElicitationHandler, McpRoot, SamplingHandler, SamplingReply, SamplingRequest } from "./types.ts";

/** Who answers one server, as it was made out. */
export interface Answers {
  readonly server: string;
  readonly roots: readonly McpRoot[];
  /** Looked up for each question: it may depend on whose calls are under way. Undefined refuses. */
  readonly sampling: (() => SamplingHandler | undefined) | undefined;
  readonly elicitation: ElicitationHandler | undefined;
  /** What was asked could not be answered, and why. */
  readonly onFailure: (why: string) => void;
}

const INVALID_PARAMS = -32_602;
const METHOD_NOT_FOUND = -32_601;
const FAILED = -32_000;

/** An error that the server reads by its code. */
export class Refusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** What is told to a server when it connects: only what somebody answers. */
export const capabilitiesOf = ({ roots, sampling, elicitation }: Answers): ClientCapabilities => ({
  ...(roots.length === 0 ? {} : { roots: { listChanged: false } }),
  ...(sampling === undefined ? {} : { sampling: {} }),
  ...(elicitation === undefined ? {} : { elicitation: { form: { applyDefaults: true }, url: {} } }),
});

const KNOWN = ["messages", "maxTokens", "systemPrompt", "temperature", "stopSequences", "_meta", "task"];

function toRequest(params: JsonObject): SamplingRequest {
  const { messages, maxTokens, systemPrompt, temperature, stopSequences } = params;
  if (!Array.isArray(messages) || typeof maxTokens !== "number") throw new Refusal(INVALID_PARAMS, "messages and maxTokens are required");
  return {
    messages: messages.map((message: JsonValue) => {
      const { role, content = null } = isJsonObject(message) ? message : {};
      return { role: role === "assistant" ? "assistant" : "user", content };
    }),
    maxTokens,
    ...(typeof systemPrompt === "string" ? { systemPrompt } : {}),
    ...(typeof temperature === "number" ? { temperature } : {}),
    ...(Array.isArray(stopSequences) ? { stopSequences: stopSequences.map(String) } : {}),
    rest: Object.fromEntries(Object.entries(params).filter(([name]) => !KNOWN.includes(name))),
  };
}

function textOf(content: JsonValue): string {
  const parts = Array.isArray(content) ? content : [content];
  return parts
    .map((part: JsonValue) => {
      const { type, text } = isJsonObject(part) ? part : {};
      if (type === "text" && typeof text === "string") return text;
      throw new Refusal(INVALID_PARAMS, `content of type '${String(type)}' is not supported: only text is`);
    })
    .join("\n");
}

const UNSUPPORTED = ["includeContext", "tools", "toolChoice"];

/** Answers with a model of the registry. Text alone: what it cannot honour it refuses. */
export function modelSampling(find: () => HostModel): SamplingHandler {
  return async ({ messages, systemPrompt = "", temperature, maxTokens, stopSequences, rest }, { server, signal }) => {
    const asked = UNSUPPORTED.find((name) => rest[name] !== undefined && rest[name] !== "none");
    if (asked !== undefined) throw new Refusal(INVALID_PARAMS, `${asked} is not supported`);
    if (stopSequences !== undefined && stopSequences.length > 0) throw new Refusal(INVALID_PARAMS, "stopSequences is not supported");
    const { provider, model } = find();
    const conversation = messages.map(({ role, content }, index) => ({
      id: messageId(`mcp-${server}-${index}`),
      role,
      content: [{ type: "text" as const, text: textOf(content) }],
      createdAt: 0,
    }));
    const overrides = { maxTokens, ...(temperature === undefined ? {} : { temperature }) };
    const request = { model, system: systemPrompt, messages: conversation, tools: [], promptCache: false, overrides };
    let text = "";
    let stopReason = "endTurn";
    for await (const part of await provider.stream(request, { signal })) {
      if (part.type === "text-delta") text += part.delta;
      if (part.type === "stop" && part.reason === "max-tokens") stopReason = "maxTokens";
    }
    return { model, text, stopReason };
  };
}

/** Puts the answers behind the client's handlers. Failures get the code that the protocol has for them. */
export function installAnswers(sdk: Sdk, client: Client, answers: Answers): void {
  const { server, roots, sampling, elicitation, onFailure } = answers;
  const told = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (thrown) {
      if (thrown instanceof Refusal) throw new sdk.ProtocolError(thrown.code, thrown.message);
      // A failure of ours may name keys and addresses: the server reads that there was one, the log what it was.
      onFailure(errorMessage(thrown));
      throw new sdk.ProtocolError(FAILED, "it could not be answered");
    }
  };
  if (roots.length > 0) client.setRequestHandler("roots/list", () => ({ roots: roots.map((root) => ({ ...root })) }));
  if (sampling !== undefined) {
    client.setRequestHandler("sampling/createMessage", ({ params }, { mcpReq }) =>
      told(async () => {
        const handler = sampling();
        if (handler === undefined) throw new Refusal(METHOD_NOT_FOUND, "sampling is refused");
        const json = toJson(params);
        const reply: SamplingReply = await handler(toRequest(isJsonObject(json) ? json : {}), { server, signal: mcpReq.signal });
        const { model, text, stopReason = "endTurn" } = reply;
        return { model, role: "assistant" as const, content: { type: "text" as const, text }, stopReason };
      }),
    );
  }
  if (elicitation !== undefined) {
    client.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) =>
      told(async () => {
        const { message } = params;
        const question = { server, signal: mcpReq.signal };
        if (params.mode === "url") return elicitation({ type: "url", message, url: params.url }, question).then(toElicited);
        const schema = toJson(params.requestedSchema);
        return elicitation({ type: "form", message, schema: isJsonObject(schema) ? schema : {} }, question).then(toElicited);
      }),
    );
  }
}

function toElicited(reply: Awaited<ReturnType<ElicitationHandler>>) {
  if (reply.action !== "accept") return { action: reply.action };
  const content = Object.entries(reply.content ?? {}).map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]);
  return { action: reply.action, content: Object.fromEntries(content) };
}
