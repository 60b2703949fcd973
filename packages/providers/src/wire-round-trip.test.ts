import { type AssistantContent, type StreamPart, toolCallId } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { assistant, callsOf, collect, text, tool, user } from "./testing/requests.ts";
import { vendorCase } from "./testing/vendors.ts";
import { openWire, sse, type Wire } from "./testing/wire.ts";

/** What a collector makes of the parts, as far as these tests need it. */
function contentOf(parts: readonly StreamPart[]): AssistantContent[] {
  const content: AssistantContent[] = [];
  let open: { type: "text" | "reasoning"; text: string } | undefined;
  for (const part of parts) {
    if (part.type === "text-delta" || part.type === "reasoning-delta") {
      open ??= { type: part.type === "text-delta" ? "text" : "reasoning", text: "" };
      open.text += part.delta;
    }
    if (part.type === "block-end" && open !== undefined) {
      const { type: _, ...data } = part;
      content.push({ ...open, ...data });
      open = undefined;
    }
    if (part.type === "content") content.push(part.content);
    if (part.type === "tool-call-start") {
      const { id, name, executed } = part;
      const fragments = parts.map((other) => (other.type === "tool-call-delta" && other.id === id ? other.delta : "")).join("");
      const metadata = parts.find((other) => other.type === "tool-call-metadata" && other.id === id);
      const vendor = metadata?.type === "tool-call-metadata" ? { providerMetadata: metadata.providerMetadata } : {};
      content.push({
        type: "tool-call",
        id: toolCallId(id),
        name,
        input: JSON.parse(fragments || "{}"),
        ...(executed !== undefined && { executed }),
        ...vendor,
      });
    }
  }
  return content;
}

const tools = [{ id: "weather", description: "w", parameters: { type: "object" } }];

/** Asks, answers the calls, and asks again; gives the body of the second request. */
async function secondBody(wire: Wire, vendor: string): Promise<unknown> {
  const { provider, model } = vendorCase(vendor);
  const first = await collect(provider(wire.url), { model, system: "Be brief.", promptCache: true, tools, messages: [user("weather?")] });
  const calls = first.flatMap((part) => (part.type === "tool-call-start" && part.executed === undefined ? [part.id] : []));
  expect(callsOf(first).length).toBeGreaterThan(0);
  const messages = [user("weather?"), assistant(...contentOf(first)), ...calls.map((id) => tool(id, [text("sunny")]))];
  await collect(provider(wire.url), { model, system: "Be brief.", promptCache: true, tools, messages });
  return wire.requests[1]?.body;
}

describe("anthropic", () => {
  const start = {
    type: "message_start",
    message: {
      id: "m",
      type: "message",
      role: "assistant",
      model: "c",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 3, output_tokens: 0, cache_read_input_tokens: 2, cache_creation_input_tokens: 1 },
    },
  };
  const block = (index: number, content: object, ...deltas: object[]) => [
    { type: "content_block_start", index, content_block: content },
    ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
    { type: "content_block_stop", index },
  ];
  const end = [
    { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ];

  test("signed and redacted thinking go back with the calls, the system prompt is marked for the cache", async () => {
    await using wire = await openWire((response) =>
      sse(
        response,
        start,
        ...block(
          0,
          { type: "thinking", thinking: "" },
          { type: "thinking_delta", thinking: "Let me " },
          { type: "thinking_delta", thinking: "think." },
          { type: "signature_delta", signature: "sig-123" },
        ),
        ...block(1, { type: "redacted_thinking", data: "opaque" }),
        ...block(
          2,
          { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
          { type: "input_json_delta", partial_json: "" },
          { type: "input_json_delta", partial_json: '{"city":"Oslo"}' },
        ),
        ...block(3, { type: "tool_use", id: "toolu_2", name: "weather", input: {} }),
        ...end,
      ),
    );
    expect(await secondBody(wire, "anthropic")).toMatchObject({
      system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
      messages: [
        { role: "user" },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Let me think.", signature: "sig-123" },
            { type: "redacted_thinking", data: "opaque" },
            { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
            { type: "tool_use", id: "toolu_2", name: "weather", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", content: "sunny" },
            { type: "tool_result", tool_use_id: "toolu_2", content: "sunny" },
          ],
        },
      ],
    });
  });

  test("usage counts what the cache gave and took", async () => {
    const { provider, model } = vendorCase("anthropic");
    await using wire = await openWire((response) =>
      sse(response, start, ...block(0, { type: "text", text: "" }, { type: "text_delta", text: "x" }), ...end),
    );
    const parts = await collect(provider(wire.url), { model });
    expect(parts.find(({ type }) => type === "usage")).toEqual({
      type: "usage",
      usage: { inputTokens: 6, outputTokens: 9, totalTokens: 15, cacheReadTokens: 2, cacheWriteTokens: 1 },
    });
  });

  test("a tool that the vendor runs: the call, its result and its sources", async () => {
    const { provider, model } = vendorCase("anthropic");
    const found = { type: "web_search_result", url: "https://example.com", title: "Example", encrypted_content: "e", page_age: null };
    await using wire = await openWire((response) =>
      sse(
        response,
        start,
        ...block(
          0,
          { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} },
          { type: "input_json_delta", partial_json: '{"query":"x"}' },
        ),
        ...block(1, { type: "web_search_tool_result", tool_use_id: "srv_1", content: [found] }),
        ...block(2, { type: "text", text: "" }, { type: "text_delta", text: "found" }),
        ...end,
      ),
    );
    const parts = await collect(provider(wire.url), { model });
    expect(parts[0]).toMatchObject({ type: "response", id: "m" });
    expect(parts[1]).toEqual({ type: "tool-call-start", id: "srv_1", name: "web_search", executed: "provider" });
    expect(parts.find(({ type }) => type === "content")).toMatchObject({
      content: { type: "tool-result", id: "srv_1", name: "web_search", output: [{ url: "https://example.com" }] },
    });
    expect(parts.find(({ type }) => type === "source")).toMatchObject({ source: { sourceType: "url", url: "https://example.com" } });
  });
});

describe("openai", () => {
  test("encrypted reasoning goes back in full; nothing is referred to by id", async () => {
    const answer = { id: "r", object: "response", created_at: 1, model: "gpt-5-mini", output: [], status: "in_progress" };
    const reasoning = { id: "rs_1", type: "reasoning", summary: [] };
    const call = { id: "fc_1", type: "function_call", call_id: "call_1", name: "weather", arguments: "", status: "in_progress" };
    await using wire = await openWire((response) =>
      sse(
        response,
        { type: "response.created", response: answer },
        { type: "response.output_item.added", output_index: 0, item: reasoning },
        { type: "response.output_item.done", output_index: 0, item: { ...reasoning, encrypted_content: "enc-1" } },
        { type: "response.output_item.added", output_index: 1, item: call },
        { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 1, delta: '{"city":' },
        { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 1, delta: '"Oslo"}' },
        { type: "response.output_item.done", output_index: 1, item: { ...call, status: "completed", arguments: '{"city":"Oslo"}' } },
        {
          type: "response.completed",
          response: {
            ...answer,
            usage: {
              input_tokens: 10,
              input_tokens_details: { cached_tokens: 4 },
              output_tokens: 6,
              output_tokens_details: { reasoning_tokens: 5 },
            },
          },
        },
      ),
    );
    const body = await secondBody(wire, "openai");
    expect(body).toMatchObject({ store: false, include: ["reasoning.encrypted_content"] });
    expect(Object(body).input.slice(2)).toMatchObject([
      { type: "reasoning", encrypted_content: "enc-1" },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Oslo"}' },
      { type: "function_call_output", call_id: "call_1", output: "sunny" },
    ]);
    const { provider, model } = vendorCase("openai");
    const parts = await collect(provider(wire.url), { model });
    expect(parts.find(({ type }) => type === "usage")).toMatchObject({
      usage: { inputTokens: 10, outputTokens: 6, cacheReadTokens: 4, reasoningTokens: 5 },
    });
  });
});

describe("google", () => {
  test("thought signatures go back on the calls that they came with", async () => {
    const parts = [
      { text: "Thinking.", thought: true },
      { functionCall: { name: "weather", args: { city: "Oslo" } }, thoughtSignature: "sig-1" },
      { functionCall: { name: "weather", args: {} } },
    ];
    await using wire = await openWire((response) =>
      sse(response, {
        candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 3, thoughtsTokenCount: 2, totalTokenCount: 10 },
      }),
    );
    expect(await secondBody(wire, "google")).toMatchObject({
      systemInstruction: { parts: [{ text: "Be brief." }] },
      contents: [
        { role: "user" },
        {
          role: "model",
          parts: [
            { text: "Thinking.", thought: true },
            { functionCall: { name: "weather", args: { city: "Oslo" } }, thoughtSignature: "sig-1" },
            { functionCall: { name: "weather", args: {} } },
          ],
        },
        { role: "user", parts: [{ functionResponse: { name: "weather" } }, { functionResponse: { name: "weather" } }] },
      ],
    });
  });

  test("a blocked prompt stops with content-filter", async () => {
    const { provider, model } = vendorCase("google");
    await using wire = await openWire((response) => sse(response, { promptFeedback: { blockReason: "SAFETY" } }));
    expect((await collect(provider(wire.url), { model })).at(-1)).toEqual({ type: "stop", reason: "content-filter" });
  });

  test("a generated image is content", async () => {
    const { provider, model } = vendorCase("google");
    await using wire = await openWire((response) =>
      sse(response, {
        candidates: [
          { content: { role: "model", parts: [{ inlineData: { mimeType: "image/png", data: "aGk=" } }] }, finishReason: "STOP", index: 0 },
        ],
      }),
    );
    expect((await collect(provider(wire.url), { model }))[0]).toEqual({
      type: "content",
      content: { type: "image", source: { type: "base64", mediaType: "image/png", data: "aGk=" } },
    });
  });
});

describe("openai-compatible", () => {
  test("reasoning goes back as the vendor sent it, the system prompt's cache marker is not sent", async () => {
    const chunk = { id: "c", object: "chat.completion.chunk", created: 1, model: "m" };
    const call = { index: 0, id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } };
    await using wire = await openWire((response) =>
      sse(
        response,
        { ...chunk, choices: [{ index: 0, delta: { reasoning_content: "hm" }, finish_reason: null }] },
        { ...chunk, choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] },
        { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
      ),
    );
    expect(Object(await secondBody(wire, "openai-compatible")).messages).toEqual([
      { role: "system", content: "Be brief." },
      { role: "user", content: "weather?" },
      {
        role: "assistant",
        content: null,
        reasoning_content: "hm",
        tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "sunny" },
    ]);
  });
});
