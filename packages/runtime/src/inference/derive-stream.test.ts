import { type InferenceRequest, NO_USAGE, type StreamPart, type Turn, toolCallId } from "@awaken/contract";
import { describe, expect, it } from "vitest";
import { createRuntime } from "../create-runtime.ts";
import { deriveStream } from "./derive-stream.ts";

const request: InferenceRequest = { model: "m", system: "", messages: [], tools: [], promptCache: false };
const body = { text: "", content: [], toolCalls: [], usage: NO_USAGE, model: "m", durationMs: 1, malformedCalls: [] };

async function partsOf(turn: Turn): Promise<StreamPart[]> {
  const provider = deriveStream({ name: "whole", complete: async () => turn });
  const parts: StreamPart[] = [];
  for await (const part of await provider.stream(request, { signal: new AbortController().signal })) parts.push(part);
  return parts;
}

describe("deriveStream", () => {
  it("inference 1: streams a whole answer as text, call start, call delta, usage, stop", async () => {
    const id = toolCallId("c1");
    const parts = await partsOf({
      ...body,
      content: [
        { type: "tool-call", id, name: "add", input: { a: 1 } },
        { type: "text", text: "Adding." },
      ],
      stopReason: "tool-use",
    });
    expect(parts.filter((part) => part.type !== "block-end")).toEqual([
      { type: "text-delta", delta: "Adding." },
      { type: "tool-call-start", id: "c1", name: "add" },
      { type: "tool-call-delta", id: "c1", delta: '{"a":1}' },
      { type: "usage", usage: NO_USAGE },
      { type: "stop", reason: "tool-use" },
    ]);
  });

  it("inference 1: a provider that has nothing but `complete` answers a run", async () => {
    const content = [{ type: "text", text: "All at once." }] as const;
    const whole = {
      name: "whole",
      complete: async (): Promise<Turn> => ({ ...body, text: "All at once.", content, stopReason: "end-turn" }),
    };
    const runtime = createRuntime({
      agents: { a: { model: "m", instructions: "be brief" } },
      models: { m: { provider: "whole", model: "m-1" } },
      providers: { whole },
    });
    const stream = runtime.stream({ input: "hi" });
    const deltas: string[] = [];
    for await (const event of stream) if (event.type === "text-delta") deltas.push(event.delta);
    expect([deltas, (await stream.result).text]).toEqual([["All at once."], "All at once."]);
    await runtime.close();
  });

  it("keeps signatures, vendor data, vendor calls and malformed calls", async () => {
    const id = toolCallId("c1");
    const parts = await partsOf({
      ...body,
      content: [
        { type: "reasoning", text: "hm", signature: "sig", providerMetadata: { v: { a: 1 } } },
        { type: "tool-call", id, name: "search", input: {}, executed: "provider" },
        { type: "tool-call", id: toolCallId("c2"), name: "add", input: {}, providerMetadata: { v: { b: 2 } } },
      ],
      malformedCalls: [{ id: toolCallId("c3"), name: "broken" }],
      stopReason: "tool-use",
    });
    expect(parts).toContainEqual({ type: "block-end", signature: "sig", providerMetadata: { v: { a: 1 } } });
    expect(parts).toContainEqual({ type: "content", content: { type: "tool-call", id, name: "search", input: {}, executed: "provider" } });
    expect(parts).toContainEqual({ type: "tool-call-metadata", id: "c2", providerMetadata: { v: { b: 2 } } });
    expect(parts).toContainEqual({ type: "tool-call-start", id: "c3", name: "broken" });
  });

  it("throws a failed answer, so that it is retried like any other", async () => {
    const failed: Turn = { ...body, stopReason: "error", failure: { type: "overloaded", message: "full" } };
    await expect(partsOf(failed)).rejects.toMatchObject({ failure: { type: "overloaded" } });
  });
});
