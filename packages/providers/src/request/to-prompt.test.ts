import { toolCallId } from "@awaken/contract";
import { describe, expect, test } from "vitest";
import { assistant, request, system, text, tool, user } from "../testing/requests.ts";
import { toPromptV3 } from "./prompt-v3.ts";
import { toPrompt } from "./to-prompt.ts";
import { vendorOf } from "./vendor.ts";

const anthropic = vendorOf("anthropic.messages");
const google = vendorOf("google.generative-ai");
const openai = vendorOf("openai.responses");
const unknown = vendorOf("somebody.chat");
const png = { type: "image", source: { type: "base64", mediaType: "image/png", data: "aGk=" } } as const;

describe("system", () => {
  test("travels first, with a cache marker when asked for", () => {
    expect(toPrompt(request({ system: "Be kind." }), unknown)[0]).toEqual({ role: "system", content: "Be kind." });
    expect(toPrompt(request({ system: "Be kind.", promptCache: true }), unknown)[0]).toEqual({
      role: "system",
      content: "Be kind.",
      providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } },
    });
    expect(toPrompt(request(), unknown)).toEqual([{ role: "user", content: [text("hello")] }]);
  });

  test("messages at the start stay system; later ones do only where the vendor takes them", () => {
    const messages = [system("one"), user("hi"), system("two")];
    expect(toPrompt(request({ messages }), openai).map(({ role }) => role)).toEqual(["system", "user", "system"]);
    expect(toPrompt(request({ messages }), unknown).at(-1)).toEqual({ role: "user", content: [text("<system>\ntwo\n</system>")] });
    expect(toPrompt(request({ messages }), google).slice(1)).toEqual([
      { role: "user", content: [text("hi"), text("<system>\ntwo\n</system>")] },
    ]);
  });
});

describe("user", () => {
  test("media by base64 and by URL", () => {
    const content = [
      text("look"),
      png,
      { type: "image", source: { type: "url", url: "https://example.com/a.jpg?x=1" } },
      { type: "audio", source: { type: "url", url: "https://example.com/stream" } },
      { type: "video", source: { type: "url", url: "https://example.com/v", mediaType: "video/mp4" } },
      { type: "document", title: "Plan", source: { type: "url", url: "https://example.com/plan" } },
      { type: "document", source: { type: "url", url: "data:text/plain;charset=utf-8;base64,aGk=" } },
    ] as const;
    const [message] = toPrompt(request({ messages: [user(...content)] }), unknown);
    expect(message?.content).toEqual([
      text("look"),
      { type: "file", mediaType: "image/png", data: { type: "data", data: "aGk=" } },
      { type: "file", mediaType: "image/jpeg", data: { type: "url", url: new URL("https://example.com/a.jpg?x=1") } },
      { type: "file", mediaType: "audio/*", data: { type: "url", url: new URL("https://example.com/stream") } },
      { type: "file", mediaType: "video/mp4", data: { type: "url", url: new URL("https://example.com/v") } },
      { type: "file", mediaType: "application/pdf", filename: "Plan", data: { type: "url", url: new URL("https://example.com/plan") } },
      { type: "file", mediaType: "text/plain", data: { type: "data", data: "aGk=" } },
    ]);
  });

  test("a source that is no URL is an invalid request", () => {
    const messages = [user({ type: "image", source: { type: "url", url: "not a url" } })];
    expect(() => toPrompt(request({ messages }), unknown)).toThrow("not a URL: not a url");
  });

  test("empty texts and messages without content are left out", () => {
    expect(toPrompt(request({ messages: [user(""), assistant(text("")), user("a", "")] }), unknown)).toEqual([
      { role: "user", content: [text("a")] },
    ]);
  });

  test("vendor data goes back with its part", () => {
    const part = { ...text("hi"), providerMetadata: { anthropic: { cacheControl: { type: "ephemeral", ttl: ["1h"] } } } };
    expect(toPrompt(request({ messages: [user(part)] }), anthropic)[0]?.content).toEqual([
      { ...text("hi"), providerOptions: { anthropic: { cacheControl: { type: "ephemeral", ttl: ["1h"] } } } },
    ]);
  });
});

describe("assistant", () => {
  const call = { type: "tool-call", id: toolCallId("c1"), name: "weather", input: null } as const;

  test("calls: null input is {}, vendor data and the vendor's own calls are kept", () => {
    const own = { ...call, id: toolCallId("c2"), input: { q: 1 }, executed: "provider" } as const;
    const signed = { ...call, providerMetadata: { google: { thoughtSignature: "s" } } };
    const result = { type: "tool-result", id: toolCallId("c2"), name: "web", output: [1] } as const;
    const messages = [assistant(signed, own, result, { ...result, isError: true })];
    expect(toPrompt(request({ messages }), google)[0]?.content).toEqual([
      { type: "tool-call", toolCallId: "c1", toolName: "weather", input: {}, providerOptions: { google: { thoughtSignature: "s" } } },
      { type: "tool-call", toolCallId: "c2", toolName: "weather", input: { q: 1 }, providerExecuted: true },
      { type: "tool-result", toolCallId: "c2", toolName: "web", output: { type: "json", value: [1] } },
      { type: "tool-result", toolCallId: "c2", toolName: "web", output: { type: "error-json", value: [1] } },
    ]);
  });

  test("reasoning goes back signed; a bare signature is put under the asked vendor's name", () => {
    const metadata = { openai: { itemId: "rs_1", reasoningEncryptedContent: "e" } };
    const reasoning = { type: "reasoning", text: "hm" } as const;
    const sent = (vendor: typeof openai, part: object) =>
      toPrompt(request({ messages: [assistant({ ...reasoning, ...part })] }), vendor)[0]?.content;
    expect(sent(openai, { providerMetadata: metadata, signature: "e" })).toEqual([{ ...reasoning, providerOptions: metadata }]);
    expect(sent(anthropic, { signature: "s" })).toEqual([{ ...reasoning, providerOptions: { anthropic: { signature: "s" } } }]);
    expect(sent(google, { signature: "s" })).toEqual([{ ...reasoning, providerOptions: { google: { thoughtSignature: "s" } } }]);
    expect(sent(unknown, { signature: "s" })).toEqual([reasoning]);
    expect(sent(anthropic, { text: "", providerMetadata: { anthropic: { redactedData: "r" } } })).toEqual([
      { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "r" } } },
    ]);
    expect(sent(anthropic, { text: "" })).toBeUndefined();
  });

  test("an empty text that carries a signature goes back only to google", () => {
    const part = { ...text(""), providerMetadata: { google: { thoughtSignature: "s" } } };
    expect(toPrompt(request({ messages: [assistant(part)] }), google)).toHaveLength(1);
    expect(toPrompt(request({ messages: [assistant(part)] }), openai)).toHaveLength(0);
  });

  test("generated files go back; those of the reasoning as such", () => {
    const messages = [assistant(png, { ...png, providerMetadata: { "awaken-reasoning-file": { type: "reasoning-file" } } })];
    expect(toPrompt(request({ messages }), google)[0]?.content).toMatchObject([{ type: "file" }, { type: "reasoning-file" }]);
  });
});

describe("turns", () => {
  const messages = [
    user("a"),
    user("b", png),
    assistant(text("c")),
    assistant(text("d"), { type: "tool-call", id: toolCallId("1"), name: "weather", input: {} }),
    tool("1", [text("sunny")]),
    user("e"),
    user("f"),
  ];

  test("messages of one role in a row are one where the vendor wants turns; results stay by themselves", () => {
    const turns = toPrompt(request({ messages }), google);
    expect(turns.map(({ role, content }) => [role, content.length])).toEqual([
      ["user", 3],
      ["assistant", 3],
      ["tool", 1],
      ["user", 2],
    ]);
    for (const vendor of [openai, anthropic, unknown]) expect(toPrompt(request({ messages }), vendor)).toHaveLength(7);
  });
});

describe("tool results", () => {
  test("the results of one round are one message, errors are marked", () => {
    const messages = [tool("c1", [text("sunny")]), tool("c2", [text("no such city")], "error"), user("thanks")];
    const prompt = toPrompt(request({ messages }), unknown);
    expect(prompt).toHaveLength(2);
    expect(prompt[0]?.content).toEqual([
      { type: "tool-result", toolCallId: "c1", toolName: "weather", output: { type: "text", value: "sunny" } },
      { type: "tool-result", toolCallId: "c2", toolName: "weather", output: { type: "error-text", value: "no such city" } },
    ]);
  });

  test("media stay inside where the vendor takes them, else they follow as a user message", () => {
    const messages = [tool("c1", [text("a map"), png]), tool("c2", [text("ok")])];
    expect(toPrompt(request({ messages }), anthropic)[0]?.content).toMatchObject([
      { output: { type: "content", value: [text("a map"), { type: "file", mediaType: "image/png" }] } },
      { output: { type: "text", value: "ok" } },
    ]);
    expect(toPrompt(request({ messages }), unknown)).toMatchObject([
      { role: "tool", content: [{ output: { type: "text", value: "a map" } }, { output: { type: "text", value: "ok" } }] },
      { role: "user", content: [text("From tool weather:"), { type: "file", mediaType: "image/png" }] },
    ]);
  });
});

describe("specification version 3", () => {
  test("file data has no tag, tool results name images and files apart", () => {
    const pdf = { type: "document", title: "Plan", source: { type: "base64", mediaType: "application/pdf", data: "aGk=" } } as const;
    const url = { type: "image", source: { type: "url", url: "https://example.com/a.png" } } as const;
    const link = { type: "document", source: { type: "url", url: "https://example.com/a.pdf" } } as const;
    const messages = [system("s"), user(png, url), assistant(text("t"), png), tool("c1", [text("x"), png, pdf, url, link])];
    expect(toPromptV3(toPrompt(request({ messages }), anthropic))).toEqual([
      { role: "system", content: "s" },
      {
        role: "user",
        content: [
          { type: "file", mediaType: "image/png", data: "aGk=" },
          { type: "file", mediaType: "image/png", data: new URL("https://example.com/a.png") },
        ],
      },
      { role: "assistant", content: [text("t"), { type: "file", mediaType: "image/png", data: "aGk=" }] },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "c1",
            toolName: "weather",
            output: {
              type: "content",
              value: [
                text("x"),
                { type: "image-data", mediaType: "image/png", data: "aGk=" },
                { type: "file-data", mediaType: "application/pdf", data: "aGk=", filename: "Plan" },
                { type: "image-url", url: "https://example.com/a.png" },
                { type: "file-url", url: "https://example.com/a.pdf" },
              ],
            },
          },
        ],
      },
    ]);
  });

  test("what it has no word for is left out", () => {
    const thought = { ...png, providerMetadata: { "awaken-reasoning-file": { type: "reasoning-file" } } };
    const prompt = toPrompt(request({ messages: [assistant(text("t"), thought)] }), google);
    expect(toPromptV3(prompt)).toEqual([{ role: "assistant", content: [text("t")] }]);
  });
});
