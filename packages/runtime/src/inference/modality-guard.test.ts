import { type InferenceRequest, type MediaContent, type Message, messageId, type Provider, toolCallId } from "@awaken/contract";
import { type Modality, parseModelSpec } from "@awaken/contract/spec";
import { describe, expect, it } from "vitest";
import { text } from "../testing/script.ts";
import { scripted } from "../testing/scripted.ts";
import { modelCapabilities } from "./capabilities.ts";
import { guardModalities } from "./modality-guard.ts";

const image: MediaContent = { type: "image", source: { type: "base64", mediaType: "image/png", data: "" } };
const options = { signal: new AbortController().signal };
const inTool = (part: MediaContent): Message => ({
  id: messageId("t"),
  role: "tool",
  toolCallId: toolCallId("c"),
  toolName: "screenshot",
  status: "success",
  content: [{ type: "text", text: "see" }, part],
});
const ask = (...messages: Message[]): InferenceRequest => ({ model: "m", system: "", messages, tools: [], promptCache: false });

async function isRefused(input: readonly Modality[], ...messages: Message[]): Promise<boolean> {
  const inner = scripted([text("ok")]);
  try {
    await guardModalities(inner, input).stream(ask(...messages), options);
    expect(inner.requests).toHaveLength(1);
    return false;
  } catch (thrown) {
    expect(thrown).toMatchObject({ failure: { type: "invalid-request" } });
    expect(inner.requests).toHaveLength(0);
    return true;
  }
}

describe("guardModalities", () => {
  it("inference 42: refuses an image in a tool result before the provider is asked", async () => {
    expect(await isRefused(["text"], inTool(image))).toBe(true);
    expect(await isRefused(["text", "image"], inTool(image))).toBe(false);
  });

  it("inference 42: lets the call go on when only the table knows the model", async () => {
    const { known, trusted } = modelCapabilities(parseModelSpec("m", { provider: "p", model: "o3-mini" }));
    expect(known.contextWindow).toBe(200_000);
    expect(await isRefused(trusted.modalities?.input ?? [], inTool(image))).toBe(false);
  });

  it("knows a PDF by its media type or by the path of its address", async () => {
    const documents: [MediaContent["source"], boolean][] = [
      [{ type: "base64", mediaType: "application/pdf; x=1", data: "" }, true],
      [{ type: "url", url: "https://example.test/a.PDF?x=1#p2" }, true],
      [{ type: "url", url: "https://example.test/a?file=b.pdf" }, false],
      [{ type: "url", url: "https://example.test/a.pdf", mediaType: "text/plain" }, false],
      [{ type: "base64", mediaType: "text/plain", data: "" }, false],
    ];
    for (const [source, expected] of documents) {
      expect(await isRefused(["text"], inTool({ type: "document", source }))).toBe(expected);
      expect(await isRefused(["pdf"], inTool({ type: "document", source }))).toBe(false);
    }
  });

  it("never refuses text, reasoning and calls", async () => {
    const assistant: Message = {
      id: messageId("a"),
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "x" },
        { type: "tool-call", id: toolCallId("c"), name: "add", input: {} },
      ],
    };
    expect(await isRefused(["image"], assistant)).toBe(false);
  });

  it("stays itself in everything else", () => {
    const observer = { drained: () => {}, failed: () => {} };
    const inner: Provider = { ...scripted([]), observer, canOverrideModel: false };
    expect(guardModalities(inner, ["text"])).toMatchObject({ name: "scripted", observer, canOverrideModel: false });
    expect(guardModalities(inner, [])).toBe(inner);
  });
});
