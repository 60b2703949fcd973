import { type AgentEvent, type AssistantContent, type JsonObject, messageText } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { createRuntime, defineTool } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import type { ChatCompletionRequest, FixtureResponse } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { checkAnswered } from "./support/dialects.ts";
import { type Followed, follow, storedMessages } from "./support/follow.ts";
import { SILENT } from "./support/task-runtime.ts";
import { VENDOR_NAMES, VENDORS, type VendorName } from "./support/vendors.ts";
import { openWire, type Wire } from "./support/wire.ts";

const THOUGHT = "Two cities, so two calls. ";
const FIRST = "Let me look – 東京 and Oslo. ";
const LAST = "Oslo has 21 °C, 東京 has 27 °C. 🌤️";
const usage = (input: number, output: number) => ({
  input_tokens: input,
  output_tokens: output,
  prompt_tokens: input,
  completion_tokens: output,
});

function play({ messages }: ChatCompletionRequest): FixtureResponse {
  if (messages.some(({ role }) => role === "tool")) return { content: LAST, usage: usage(40, 9) };
  const call = (city: string) => ({ type: "toolCall", name: "weather", arguments: JSON.stringify({ city }) }) as const;
  const blocks = [{ type: "text", text: FIRST } as const, call("Oslo"), call("東京")];
  return { blocks, reasoning: THOUGHT, reasoningSignature: "signed-thought", usage: usage(20, 11) };
}

const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, tempC: city === "Oslo" ? 21 : 27 }),
});

/** How each vendor gets its own reasoning back with the calls that came of it. */
const RETURNED: Readonly<Record<VendorName, (body: JsonObject) => void>> = {
  openai: ({ input }) => {
    expect(input).toContainEqual(
      expect.objectContaining({
        type: "reasoning",
        encrypted_content: expect.any(String),
        summary: [{ type: "summary_text", text: THOUGHT }],
      }),
    );
  },
  anthropic: ({ messages }) => {
    const content = expect.arrayContaining([{ type: "thinking", thinking: THOUGHT, signature: "signed-thought" }]);
    expect(messages).toContainEqual(expect.objectContaining({ role: "assistant", content }));
  },
  google: ({ contents }) => {
    const parts = expect.arrayContaining([expect.objectContaining({ text: THOUGHT, thought: true })]);
    expect(contents).toContainEqual(expect.objectContaining({ role: "model", parts }));
  },
};

interface Ran {
  readonly wire: Wire;
  readonly store: Store;
  readonly followed: Followed;
}

async function run(name: VendorName): Promise<Ran> {
  const wire = await openWire(play);
  const store = memoryStore();
  await using runtime = createRuntime({
    providers: { [name]: VENDORS[name].provider({ url: wire.url }) },
    models: { model: { provider: name, model: VENDORS[name].model } },
    agents: { agent: { model: "model", instructions: "Be brief.", reasoningEffort: "high" } },
    tools: [weather],
    store,
    log: SILENT,
  });
  return { wire, store, followed: await follow(runtime.stream({ agent: "agent", thread: "t", input: "Weather in Oslo and 東京?" })) };
}

function eventsOf<Type extends AgentEvent["type"]>({ events }: Followed, type: Type) {
  return events.filter((event): event is Extract<AgentEvent, { type: Type }> => event.type === type);
}

async function expectStored({ store, followed }: Ran): Promise<void> {
  const messages = await storedMessages(store, "t");
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "assistant"]);
  const [, asked, oslo, tokyo, answered] = messages;
  const parts: readonly AssistantContent[] = asked?.role === "assistant" ? asked.content : [];
  expect(parts).toMatchObject([
    { type: "reasoning", text: THOUGHT },
    { type: "text", text: FIRST },
    { type: "tool-call", name: "weather", input: { city: "Oslo" } },
    { type: "tool-call", name: "weather", input: { city: "東京" } },
  ]);
  const ids = parts.flatMap((part) => (part.type === "tool-call" ? [part.id] : []));
  expect([oslo, tokyo]).toMatchObject(ids.map((toolCallId) => ({ toolCallId, toolName: "weather", status: "success" })));
  expect(answered === undefined ? "" : messageText(answered)).toBe(LAST);
  const run = await store.runs.load(followed.result.runId);
  expect(run).toMatchObject({ status: "done", steps: 2, usage: followed.result.usage, outcome: { response: LAST } });
}

describe.each(VENDOR_NAMES)("%s: a tool run over HTTP", (name) => {
  let ran: Ran;
  beforeAll(async () => {
    ran = await run(name);
  });
  afterAll(async () => {
    await ran?.wire[Symbol.asyncDispose]();
    await ran?.store.close();
  });

  test("text, reasoning, parallel calls and usage reach the events", () => {
    const { followed } = ran;
    expect(followed.text).toBe(FIRST + LAST);
    expect(followed.reasoning).toBe(THOUGHT);
    expect(eventsOf(followed, "text-delta").length).toBeGreaterThan(4);
    expect(eventsOf(followed, "tool-call-ready").map(({ input }) => input)).toEqual([{ city: "Oslo" }, { city: "東京" }]);
    const results = eventsOf(followed, "tool-call-end").map(({ outcome, result }) => [outcome, result.type === "success" && result.data]);
    expect(results).toEqual([
      ["succeeded", { city: "Oslo", tempC: 21 }],
      ["succeeded", { city: "東京", tempC: 27 }],
    ]);
    expect(eventsOf(followed, "inference-end").map(({ usage }) => usage)).toMatchObject([
      { inputTokens: 20, outputTokens: 11, totalTokens: 31 },
      { inputTokens: 40, outputTokens: 9, totalTokens: 49 },
    ]);
  });

  test("they reach the result", () => {
    const usage = { inputTokens: 60, outputTokens: 20, totalTokens: 80 };
    expect(ran.followed.result).toMatchObject({ text: LAST, status: "done", termination: { type: "natural-end" }, steps: 2, usage });
  });

  test("they reach the stored log", () => expectStored(ran));

  test("they go back to the vendor: reasoning as it came, each call with its result", () => {
    const { requests } = ran.wire;
    expect(requests.map(({ body }) => checkAnswered(name, body))).toEqual([0, 2]);
    RETURNED[name](requests[1]?.body ?? {});
  });
});
