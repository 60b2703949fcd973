import type { JsonObject } from "@awaken/contract";
import { failure, scripted, text, toolCall, toolCalls } from "@awaken/runtime/testing";
import { describe, expect, test } from "vitest";
import { badServer, folder, npmServer, open } from "./mcp.test-support.ts";
import type { McpOptions, McpServerInput } from "./types.ts";

const DONE = text("done");
const MESSAGES = [{ role: "user", content: { type: "text", text: "How hot?" } }];

/** What a server is told when it asks. */
async function asked(method: string, params: JsonObject, options: (server: McpServerInput) => McpOptions, side = scripted([])) {
  const { server } = badServer();
  const { run, log } = open(options(server), [toolCall("mcp__s__ask", { method, params }), DONE], {
    providers: { main: scripted([toolCall("mcp__s__ask", { method, params }), DONE]), side },
    models: { fast: { provider: "main", model: "up" }, small: { provider: "side", model: "small-up" } },
  });
  const [end] = await run();
  const { result, error }: { result?: JsonObject; error?: JsonObject } = JSON.parse(String(end?.data));
  return { result, error, log };
}

describe("sampling", () => {
  const sample = { messages: MESSAGES, maxTokens: 10 };
  const handler = async () => ({ model: "mine", text: "21 degrees" });

  test("extensions 49: denied (null) answers -32601 even when a fixed handler exists", async () => {
    const { error } = await asked("sampling/createMessage", sample, (s) => ({
      sampling: handler,
      servers: { s: { ...s, sampling: null } },
    }));
    expect(error).toMatchObject({ code: -32601 });
    const nobody = await asked("sampling/createMessage", sample, (s) => ({ servers: { s } }));
    expect(nobody.error).toMatchObject({ code: -32601 });
  });

  test("extensions 49: is denied as long as an agent that refuses has a call under way, and is bound to an agent's own handler", async () => {
    const denied = await asked("sampling/createMessage", sample, (s) => ({
      sampling: handler,
      samplingByAgent: { assistant: null },
      servers: { s },
    }));
    expect(denied.error).toMatchObject({ code: -32601 });
    const own = async () => ({ model: "own", text: "cold" });
    const bound = await asked("sampling/createMessage", sample, (s) => ({
      sampling: handler,
      samplingByAgent: { assistant: own, other: null },
      servers: { s },
    }));
    expect(bound.result).toMatchObject({ model: "own", content: { text: "cold" } });
  });

  test("is answered by code, or by a model of the registry", async () => {
    const coded = await asked("sampling/createMessage", sample, (s) => ({ servers: { s: { ...s, sampling: handler } } }));
    expect(coded.result).toEqual({
      model: "mine",
      role: "assistant",
      content: { type: "text", text: "21 degrees" },
      stopReason: "endTurn",
    });
    const side = scripted([text("It is warm.")]);
    const params = { ...sample, systemPrompt: "Be brief.", temperature: 0.5 };
    const modelled = await asked("sampling/createMessage", params, (s) => ({ sampling: { model: "small" }, servers: { s } }), side);
    expect(modelled.result).toMatchObject({ model: "small-up", content: { text: "It is warm." } });
    expect(side.requests[0]).toMatchObject({
      model: "small-up",
      system: "Be brief.",
      overrides: { maxTokens: 10, temperature: 0.5 },
      messages: [{ role: "user", content: [{ type: "text", text: "How hot?" }] }],
    });
  });

  test("is refused by a model where it asks for what it would not get, and fails with a code of its own", async () => {
    const options = (s: McpServerInput): McpOptions => ({ sampling: { model: "small" }, servers: { s } });
    const wrong = [
      { ...sample, stopSequences: ["x"] },
      { ...sample, includeContext: "allServers" },
      { ...sample, messages: [{ role: "user", content: { type: "image", data: "eA==", mimeType: "image/png" } }] },
    ];
    for (const params of wrong) {
      expect((await asked("sampling/createMessage", params, options)).error).toMatchObject({ code: -32602 });
    }
    const broken = await asked("sampling/createMessage", sample, options, scripted([failure("unauthorized", "the key sk-7 is wrong")]));
    // What failed here is nothing for a server to read.
    expect(broken.error).toEqual({ code: -32000, message: "it could not be answered" });
    expect(broken.log.join()).toContain("what MCP server 's' asked could not be answered: ");
  });
});

describe("roots", () => {
  test("are told when there are any, and else refused", async () => {
    const roots = [{ uri: "file:///home/ana", name: "home" }];
    expect((await asked("roots/list", {}, (s) => ({ roots, servers: { s } }))).result).toEqual({ roots });
    expect((await asked("roots/list", {}, (s) => ({ servers: { s } }))).error).toMatchObject({ code: -32601 });
    expect((await asked("roots/list", {}, (s) => ({ roots, servers: { s: { ...s, roots: [] } } }))).error).toMatchObject({ code: -32601 });
  });
});

describe("elicitation", () => {
  const requestedSchema = {
    type: "object",
    properties: { name: { type: "string" }, size: { type: "string", default: "M" } },
    required: ["name"],
  };
  const params = { mode: "form", message: "Who?", requestedSchema };

  test("asks a person through your code: accept with the defaults of the form, decline, cancel; nobody is -32601", async () => {
    const seen: unknown[] = [];
    const accepted = await asked("elicitation/create", params, (s) => ({
      servers: { s },
      elicitation: async (request, { server }) => {
        seen.push(request, server);
        return { action: "accept", content: { name: "Ana" } };
      },
    }));
    expect(accepted.result).toEqual({ action: "accept", content: { name: "Ana", size: "M" } });
    expect(seen).toEqual([{ type: "form", message: "Who?", schema: requestedSchema }, "s"]);
    const declined = await asked("elicitation/create", params, (s) => ({
      servers: { s },
      elicitation: async () => ({ action: "decline" }),
    }));
    expect(declined.result).toEqual({ action: "decline" });
    const refused = await asked("elicitation/create", params, (s) => ({
      servers: { s: { ...s, elicitation: null } },
      elicitation: async () => ({ action: "decline" }),
    }));
    expect(refused.error).toMatchObject({ code: -32601 });
  });
});

test("everything asks for all of it: a model, a person, roots; its prompts and resources are at hand", async () => {
  const path = folder();
  const turns = [
    toolCalls([
      { name: "mcp__all__trigger_sampling_request", input: { prompt: "Say hi", maxTokens: 10 } },
      { name: "mcp__all__trigger_elicitation_request", input: {} },
      { name: "mcp__all__get_roots_list", input: {} },
    ]),
    DONE,
  ];
  const { run, plugin } = open(
    {
      servers: { all: npmServer("everything", "stdio") },
      roots: [{ uri: `file://${path}`, name: "work" }],
      sampling: async () => ({ model: "mine", text: "hi from a model" }),
      elicitation: async () => ({ action: "accept", content: { name: "Ana" } }),
    },
    turns,
  );
  const said = JSON.stringify(await run());
  expect(said).toContain("hi from a model");
  expect(said).toContain("Ana");
  expect(said).toContain(path);
  const prompts = await plugin.servers.listPrompts("all");
  expect(prompts.map(({ name }) => name)).toContain("simple-prompt");
  expect(await plugin.servers.getPrompt("all", "args-prompt", { city: "Oslo" })).toContain("Oslo");
  const [resource] = await plugin.servers.listResources("all");
  const contents = await plugin.servers.readResource("all", resource?.uri ?? "");
  expect(contents[0]?.text ?? contents[0]?.blob).toBeDefined();
  expect(await plugin.servers.complete("all", "completable-prompt", "department", "E")).toContain("Engineering");
});
