import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

// The programs run as a user starts them: a process each, with the vendors' packages. Only the vendors' address is another one.

const mock = new LLMock({ port: 0 });
let folder = "";

beforeAll(async () => {
  await mock.start();
  folder = mkdtempSync(join(tmpdir(), "awaken-programs-"));
});
beforeEach(() => {
  mock.clearFixtures();
  mock.clearRequests();
});
afterAll(async () => {
  await mock.stop();
  rmSync(folder, { recursive: true, force: true });
});

interface Played {
  readonly lines: readonly string[];
  readonly errors: string;
  readonly code: number | null;
}

function start(name: string, ...args: readonly string[]) {
  const base = `${mock.url}/v1`;
  const env = {
    ...process.env,
    NODE_OPTIONS: "--conditions=awaken-source",
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: base,
    ANTHROPIC_API_KEY: "sk-test",
    ANTHROPIC_BASE_URL: base,
  };
  const child = spawn(process.execPath, [join(import.meta.dirname, name), ...args], { cwd: folder, env });
  let output = "";
  let errors = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (errors += chunk));
  const played = new Promise<Played>((resolve) => {
    child.on("close", (code) => resolve({ lines: output.trimEnd().split("\n"), errors, code }));
  });
  return { child, played };
}

async function play(name: string, ...args: readonly string[]): Promise<readonly string[]> {
  const { lines, errors, code } = await start(name, ...args).played;
  expect([errors, code]).toEqual(["", 0]);
  return lines;
}

/** Objects are printed on one line or on several, as they fit. */
const flat = (lines: readonly string[]): string => lines.join(" ").replaceAll(/\s+/g, " ");

const calls = (name: string, input: object) => ({ toolCalls: [{ name, arguments: JSON.stringify(input) }] });
const usage = (input: number) => ({ usage: { input_tokens: input, output_tokens: 0, total_tokens: input } });

/** The first request of a run asks for the tool, the one with its result gets the answer. */
function answerWithTool(tool: string, input: object, content: string, tokens = 10): void {
  mock.on({ hasToolResult: true }, { content, ...usage(tokens) });
  mock.on({ hasToolResult: false }, { ...calls(tool, input), ...usage(tokens) });
}

describe("the programs of docs/api.md", () => {
  it("1: an agent with a tool", async () => {
    answerWithTool("weather", { city: "Oslo" }, "21 degrees.");
    const usage = "{ inputTokens: 20, outputTokens: 0, totalTokens: 20, cacheReadTokens: 0, reasoningTokens: 0 }";
    expect(flat(await play("01-agent-with-a-tool.ts"))).toBe(`21 degrees. ${usage}`);
    expect(JSON.stringify(mock.getLastRequest()?.body)).toContain(String.raw`{\"city\":\"Oslo\",\"tempC\":21}`);
  });

  it("2: streaming, detaching, cancelling", async () => {
    answerWithTool("calendar", { day: "today" }, "First the dentist.");
    expect(await play("02-streaming.ts")).toEqual(["calendar succeeded", "First the dentist.", "18 characters, 2 steps, natural-end"]);
  });

  it("3: human in the loop", async () => {
    answerWithTool("refund", { orderId: "7", amount: 120 }, "90 are on their way.");
    expect(await play("03-human-in-the-loop.ts")).toEqual(["Refund 120? done 90 are on their way. [ { orderId: '7', amount: 90 } ]"]);
  });

  it("4: state and a plugin", async () => {
    answerWithTool("search", {}, "The first one.", 15_000);
    expect(await play("04-state-and-a-plugin.ts")).toEqual([
      "The first one. { type: 'natural-end' }",
      "- { type: 'blocked', reason: 'budget used up' }",
    ]);
  });

  it("5: many agents", async () => {
    const found = { content: "42 chairs.", ...usage(1) };
    mock.on(
      { model: "gpt-5-mini", userMessage: "sales in May", hasToolResult: false },
      { ...calls("search", { query: "May" }), ...usage(2) },
    );
    mock.on({ model: "gpt-5-mini", userMessage: "sales in May", hasToolResult: true }, found);
    mock.on({ model: "gpt-5-mini", userMessage: "Bill what we sold in May" }, { content: "The invoice is out.", ...usage(3) });
    mock.on({ model: "gpt-5", hasToolResult: false }, { ...calls("agent_run_researcher", { prompt: "sales in May" }), ...usage(10) });
    mock.on({ model: "gpt-5", hasToolResult: true }, { ...calls("handoff", { agent: "billing" }), ...usage(20) });
    expect(await play("05-many-agents.ts")).toEqual([
      "lead > researcher Search for May?",
      "done The invoice is out. [ 'lead: 33', 'lead > researcher: 3' ]",
    ]);
  });

  it("6: change it while it runs", async () => {
    mock.on({ model: /^claude/ }, { content: "Hello from the other vendor." });
    mock.on({ systemMessage: "Be kind." }, { content: "Hello, dear!" });
    mock.on({ systemMessage: "Be brief." }, { content: "Hi." });
    const preview = "blockIfReferencedAllowed: false, cascadeUnusedModelBindingsAllowed: false";
    expect(flat(await play("06-change-it-while-it-runs.ts"))).toBe(
      [
        "provider_in_use 2",
        `3 { providerId: 'openai', modelIds: [ 'fast' ], agentIds: [ 'assistant' ], ${preview} }`,
        "Hi.",
        "Hello, dear!",
        "Hello from the other vendor. { providerId: 'openai', removedModelIds: [ 'fast' ], affectedAgentIds: [] }",
      ].join(" "),
    );
  });

  it("7: durable: killed while the model answers, started again", async () => {
    const asked = Promise.withResolvers<void>();
    const killed = Promise.withResolvers<void>();
    let requests = 0;
    mock.on({ userMessage: "What is new?" }, { content: "Nothing." });
    mock.on({ userMessage: "Hello" }, async () => {
      requests += 1;
      asked.resolve();
      if (requests === 1) await killed.promise;
      return { content: "Hi again." };
    });
    const first = start("07-durable.ts", "Hello");
    await Promise.race([asked.promise, first.played]);
    first.child.kill("SIGKILL");
    expect(await first.played).toMatchObject({ code: null, lines: [""] });
    killed.resolve();
    expect(await play("07-durable.ts", "What is new?")).toEqual(["resumed: Hi again.", "answered: Nothing."]);
    expect(requests).toBe(2);
  });
});
