import type { AgentSpecInput } from "@awaken/contract/spec";
import { createRuntime, defineTool } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import type { ChatCompletionRequest, FixtureResponse } from "@copilotkit/aimock";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { storedMessages } from "./support/follow.ts";
import { brokenRule, TOO_LONG } from "./support/rules.ts";
import { SILENT } from "./support/task-runtime.ts";
import { VENDOR_NAMES, VENDORS, type VendorName } from "./support/vendors.ts";
import { openWire, type WireRequest } from "./support/wire.ts";

const LONG = "all of it ".repeat(150);
const isSummary = ({ messages }: ChatCompletionRequest) => JSON.stringify(messages).includes("You condense conversations");

/** Two calls, one more, then an answer, or an answer at once; some are cut by the token limit and continued. */
function play(request: ChatCompletionRequest): FixtureResponse {
  const { messages } = request;
  if (isSummary(request)) return { content: "They asked, and it was looked up." };
  const last = messages.at(-1);
  const said = JSON.stringify(last?.content ?? "");
  const call = (place: string) => ({ name: "look", arguments: JSON.stringify({ place }) });
  if (said.includes("cut off by the limit")) return { content: `and the rest: ${LONG}` };
  // Asked and answered, without a call between them.
  if (/question [36] /.test(said)) return { content: `Found ${LONG}`, finishReason: "length" };
  if (last?.role === "user") return { content: "Let me look.", toolCalls: [call("here"), call("there")] };
  if (!said.includes("everywhere")) return { toolCalls: [call("everywhere")] };
  const asked = JSON.stringify(messages.findLast(({ role }) => role === "user")?.content ?? "");
  return /question [258] /.test(asked) ? { content: `Found ${LONG}`, finishReason: "length" } : { content: `Found ${LONG}` };
}

const look = defineTool({
  id: "look",
  description: "Looks something up",
  input: z.object({ place: z.string() }),
  execute: ({ place }) => `${place}: ${"seen ".repeat(200)}`,
});

interface Strict {
  readonly requests: WireRequest[];
  readonly broken: string[];
  tooLong: number;
}

async function converse(name: VendorName, agent: AgentSpecInput, window: { chars?: number; tokens?: number } = {}) {
  const strict: Strict = { requests: [], broken: [], tooLong: 0 };
  await using wire = await openWire(play);
  wire.chooseFault = (request) => {
    const rule = brokenRule(name, request.body);
    if (rule !== undefined) {
      strict.broken.push(`${rule}: ${JSON.stringify(request.body)}`);
      return { type: "status", status: 400, message: rule };
    }
    if (JSON.stringify(request.body).length <= (window.chars ?? Number.POSITIVE_INFINITY)) {
      strict.requests.push(request);
      return undefined;
    }
    strict.tooLong += 1;
    return { type: "status", status: 400, message: TOO_LONG[name] };
  };
  const store = memoryStore();
  await using runtime = createRuntime({
    providers: { [name]: VENDORS[name].provider({ url: wire.url }) },
    models: {
      model: { provider: name, model: VENDORS[name].model, ...(window.tokens !== undefined && { contextWindow: window.tokens }) },
    },
    agents: { agent: { model: "model", instructions: "Be brief.", sections: { retry: { backoffBaseMs: 1 } }, ...agent } },
    tools: [look],
    store,
    log: SILENT,
  });
  const greeting = { role: "assistant", content: [{ type: "text", text: "Good morning. What is it?" }] } as const;
  for (let turn = 1; turn <= 9; turn++) {
    const question = { role: "user", content: [{ type: "text", text: `question ${turn} ${LONG}` }] } as const;
    const result = await runtime.run({ agent: "agent", thread: "t", input: turn === 1 ? [greeting, question] : [question] });
    expect(strict.broken).toEqual([]);
    expect(result).toMatchObject({ status: "done", text: expect.stringContaining("Found") });
    expect(JSON.stringify(strict.requests.at(-1)?.body)).toContain(`question ${turn} `);
  }
  return { strict, log: await storedMessages(store, "t") };
}

const showsFirst = ({ body }: WireRequest) => JSON.stringify(body).includes("question 1 ");

describe.each(VENDOR_NAMES)("%s, in its strictest form, takes every request of a long thread", (name) => {
  test("core-execution 89: with all of it, begun by the assistant, its answers cut and continued", async () => {
    const { strict, log } = await converse(name, {});
    expect(strict.requests.every(showsFirst)).toBe(true);
    const answers = log.filter(({ role, visibility }) => role === "assistant" && visibility === undefined);
    expect(answers).toHaveLength(1 + 7 * 3 + 2);
    // The fake does not know how OpenAI tells of an answer that was cut.
    const pleas = log.filter(({ role, visibility }) => role === "user" && visibility === "internal");
    expect(pleas).toHaveLength(name === "openai" ? 0 : 5);
  });

  test.each([1, 2, 3, 4, 5])(
    "core-execution 89: truncated, with the newest %i messages kept whatever they weigh",
    async (minRecentMessages) => {
      const { strict } = await converse(name, { contextPolicy: { maxContextTokens: 3_000, maxOutputTokens: 500, minRecentMessages } });
      expect(strict.requests.slice(-4).some(showsFirst)).toBe(false);
    },
  );

  test.each([1, 2, 3])("core-execution 89: compacted down to the newest %i messages", async (compactionRawSuffixMessages) => {
    const contextPolicy = { maxContextTokens: 60_000, autocompactThreshold: 2_000, compactionRawSuffixMessages };
    const { strict, log } = await converse(name, { contextPolicy });
    expect(log.some(({ role }) => role === "system")).toBe(true);
    expect(strict.requests.filter(({ body }) => JSON.stringify(body).includes("it was looked up")).length).toBeGreaterThan(5);
  });

  test("core-execution 88: truncated when the vendor says that it is too long", async () => {
    const { strict } = await converse(name, {}, { chars: 26_000, tokens: 5_000 });
    expect(strict.tooLong).toBeGreaterThan(2);
    expect(strict.requests.slice(-4).some(showsFirst)).toBe(false);
  });
});
