import {
  type AssistantContent,
  InferenceError,
  type InferenceRequest,
  type Message,
  messageId,
  type Provider,
  type StreamPart,
  type ToolContent,
  type ToolMessage,
  toolCallId,
  type UserContent,
} from "@awaken/contract";

const id = messageId("m");

export const system = (text: string): Message => ({ id, role: "system", content: [{ type: "text", text }] });
export const user = (...content: (string | UserContent)[]): Message => ({
  id,
  role: "user",
  content: content.map((part) => (typeof part === "string" ? { type: "text", text: part } : part)),
});
export const assistant = (...content: AssistantContent[]): Message => ({ id, role: "assistant", content });
export const tool = (callId: string, content: readonly ToolContent[], status: ToolMessage["status"] = "success"): Message => ({
  id,
  role: "tool",
  toolCallId: toolCallId(callId),
  toolName: "weather",
  status,
  content,
});
export const text = (value: string): { type: "text"; text: string } => ({ type: "text", text: value });

export function request(init: Partial<InferenceRequest> = {}): InferenceRequest {
  return { model: "test-model", system: "", messages: [user("hello")], tools: [], promptCache: false, ...init };
}

export const never = new AbortController().signal;

export async function collect(provider: Provider, init: Partial<InferenceRequest> = {}, signal = never): Promise<StreamPart[]> {
  const parts: StreamPart[] = [];
  for await (const part of await provider.stream(request(init), { signal })) parts.push(part);
  return parts;
}

/** The error of a call that must fail, and what came before it. */
export async function failing(
  provider: Provider,
  init: Partial<InferenceRequest> = {},
  signal = never,
): Promise<{ error: InferenceError; parts: StreamPart[] }> {
  const parts: StreamPart[] = [];
  try {
    for await (const part of await provider.stream(request(init), { signal })) parts.push(part);
  } catch (error) {
    if (error instanceof InferenceError) return { error, parts };
    throw error;
  }
  throw new Error(`expected a failure, got ${JSON.stringify(parts)}`);
}

export function textOf(parts: readonly StreamPart[]): string {
  return parts.map((part) => (part.type === "text-delta" ? part.delta : "")).join("");
}

export function reasoningOf(parts: readonly StreamPart[]): string {
  return parts.map((part) => (part.type === "reasoning-delta" ? part.delta : "")).join("");
}

/** Calls by name, with the input that their fragments make. */
export function callsOf(parts: readonly StreamPart[]): { name: string; input: unknown }[] {
  return parts.flatMap((part) => {
    if (part.type !== "tool-call-start") return [];
    const fragments = parts.map((other) => (other.type === "tool-call-delta" && other.id === part.id ? other.delta : ""));
    return [{ name: part.name, input: JSON.parse(fragments.join("")) }];
  });
}
