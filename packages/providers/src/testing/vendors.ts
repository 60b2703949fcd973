import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { Provider } from "@awaken/contract";
import { type AiSdkOptions, fromAiSdk } from "../from-ai-sdk.ts";

const apiKey = "test-key-for-the-loopback";

export interface VendorCase {
  readonly vendor: string;
  readonly model: string;
  /** A provider over the real vendor package that talks to this address. */
  provider(url: string, options?: AiSdkOptions): Provider;
  /** The start of an answer on this vendor's wire: a little text and no end. */
  readonly opening: readonly object[];
  /** What closes it. */
  readonly closing: readonly object[];
}

const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", content: [], stop_reason: null, stop_sequence: null };
const item = { id: "msg_1", type: "message", status: "in_progress", role: "assistant", content: [] };
const answer = { id: "resp_1", object: "response", created_at: 1, model: "gpt", output: [], status: "in_progress" };
const chunk = { id: "c1", object: "chat.completion.chunk", created: 1, model: "gpt" };

export const VENDORS: readonly VendorCase[] = [
  {
    vendor: "openai",
    model: "gpt-5-mini",
    provider: (url, options) => fromAiSdk(createOpenAI({ apiKey, baseURL: `${url}/v1` }), options),
    opening: [
      { type: "response.created", response: answer },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Hel" },
    ],
    closing: [
      { type: "response.output_item.done", output_index: 0, item: { ...item, status: "completed" } },
      {
        type: "response.completed",
        response: { ...answer, status: "completed", usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
      },
    ],
  },
  {
    vendor: "openai-compatible",
    model: "local-model",
    provider: (url, options) =>
      fromAiSdk(createOpenAICompatible({ apiKey, name: "local", baseURL: `${url}/v1`, includeUsage: true }), options),
    opening: [{ ...chunk, choices: [{ index: 0, delta: { role: "assistant", content: "Hel" }, finish_reason: null }] }],
    closing: [
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
      { ...chunk, choices: [], usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 } },
    ],
  },
  {
    vendor: "anthropic",
    model: "claude-sonnet-4-5",
    provider: (url, options) => fromAiSdk(createAnthropic({ apiKey, baseURL: `${url}/v1` }), options),
    opening: [
      { type: "message_start", message: { ...message, usage: { input_tokens: 3, output_tokens: 0 } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
    ],
    closing: [
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 4 } },
      { type: "message_stop" },
    ],
  },
  {
    vendor: "google",
    model: "gemini-2.5-flash",
    provider: (url, options) => fromAiSdk(createGoogle({ apiKey, baseURL: `${url}/v1beta` }), options),
    opening: [{ candidates: [{ content: { role: "model", parts: [{ text: "Hel" }] }, index: 0 }] }],
    closing: [
      {
        candidates: [{ content: { role: "model", parts: [] }, finishReason: "STOP", index: 0 }],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
      },
    ],
  },
];

export function vendorCase(name: string): VendorCase {
  const found = VENDORS.find(({ vendor }) => vendor === name);
  if (found === undefined) throw new Error(`no vendor ${name}`);
  return found;
}
