import {
  InferenceError,
  type InferenceRequest,
  type Message,
  messageText,
  messageToolCalls,
  type Provider,
  type StreamPart,
  threadId,
} from "@awaken/contract";
import type { AgentSpecInput, ModelSpecInput } from "@awaken/contract/spec";
import { memoryStore } from "@awaken/stores/memory";
import { describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { createRuntime } from "../create-runtime.ts";
import { seldom } from "../prompt/seldom-door.ts";
import { defineTool } from "../tool/define-tool.ts";

const say = (delta: string): StreamPart[] => [
  { type: "text-delta", delta },
  { type: "stop", reason: "end-turn" },
];
const call = (id: string, input: object): StreamPart[] => [
  { type: "tool-call-start", id, name: "read" },
  { type: "tool-call-delta", id, delta: JSON.stringify(input) },
];

const IMAGE_CHARS = 20_000;
const isMedia = ({ type }: { readonly type: string }) => type === "image";
const weigh = ({ system, messages, tools }: InferenceRequest): number =>
  system.length +
  JSON.stringify(tools).length +
  messages.reduce((sum, message) => sum + JSON.stringify(message.content).length + message.content.filter(isMedia).length * IMAGE_CHARS, 0);

/** A vendor with a window of so many characters that refuses what is longer, and what is no conversation. */
class SmallVendor {
  readonly taken: InferenceRequest[] = [];
  readonly refused: InferenceRequest[] = [];
  chars: number;
  readonly #answer: (request: InferenceRequest) => readonly StreamPart[];

  constructor(chars: number, answer: (request: InferenceRequest) => readonly StreamPart[] = () => say("ok")) {
    this.chars = chars;
    this.#answer = answer;
  }

  readonly provider: Provider = { name: "small", stream: (request) => this.#stream({ ...request, messages: [...request.messages] }) };

  #stream(request: InferenceRequest): AsyncIterable<StreamPart> {
    checkConversation(request.messages);
    if (weigh(request) > this.chars) {
      this.refused.push(request);
      throw new InferenceError({ type: "context-overflow", message: "prompt is too long" });
    }
    this.taken.push(request);
    const parts = this.#answer(request);
    return (async function* () {
      yield* parts;
    })();
  }
}

/** The user speaks first, and each call has its result right behind it. */
function checkConversation(messages: readonly Message[]): void {
  expect(messages.find(({ role }) => role !== "system")?.role).toBe("user");
  let open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool") expect(open.delete(message.toolCallId)).toBe(true);
    else {
      expect([...open]).toEqual([]);
      open = new Set(messageToolCalls(message).map(({ id }) => id));
    }
  }
  expect([...open]).toEqual([]);
}

const CHARS = 40_000;
const LONG = "word ".repeat(1_200);

function open(
  vendor: SmallVendor,
  model: Partial<ModelSpecInput> = { contextWindow: CHARS / 4, maxOutputTokens: 500 },
  agent: object = {},
) {
  const store = memoryStore();
  const warnings: string[] = [];
  const read = defineTool({
    id: "read",
    description: "reads",
    input: z.object({ size: z.number() }),
    execute: ({ size }) => "r".repeat(size),
  });
  const spec: AgentSpecInput = { model: "m", instructions: "Be brief.", ...agent };
  const runtime = createRuntime({
    providers: { small: vendor.provider },
    models: { m: { provider: "small", model: "unheard-of", ...model } },
    agents: { assistant: spec },
    tools: [read],
    store,
    log: { warn: (text) => warnings.push(text), error() {} },
  });
  const ask = (input: string) => runtime.run({ agent: "assistant", thread: "t", input });
  const rows = async () => (await store.messages.list(threadId("t"), { limit: 500 })).items.map(({ message }) => message);
  return { runtime, ask, rows, warnings };
}

const lastOf = (requests: readonly InferenceRequest[]) => requests.at(-1)?.messages.map(messageText) ?? [];

describe("a request that is too long for the model", () => {
  it("core-execution 88: without a context policy it is truncated and sent once more, and the thread goes on for ever", async () => {
    const vendor = new SmallVendor(CHARS, () => say(LONG));
    const { ask, rows, warnings } = open(vendor);
    for (let turn = 0; turn < 12; turn++) {
      const before = [vendor.taken.length, vendor.refused.length];
      expect(await ask(`question ${turn} ${LONG}`)).toMatchObject({ text: LONG, termination: { type: "natural-end" } });
      expect(vendor.taken.length).toBe((before[0] ?? 0) + 1);
      expect(vendor.refused.length - (before[1] ?? 0)).toBeLessThanOrEqual(1);
      expect(lastOf(vendor.taken).at(-1)).toContain(`question ${turn} `);
    }
    expect(vendor.refused.length).toBeGreaterThan(5);
    expect(warnings).toHaveLength(vendor.refused.length);
    // More than the question alone was kept, and nothing of the thread was lost.
    expect(vendor.taken.at(-1)?.messages.length).toBeGreaterThanOrEqual(3);
    expect((await rows()).map(({ role }) => role)).toEqual(Array.from({ length: 12 }, () => ["user", "assistant"]).flat());
  });

  it("core-execution 88: is sent once more and not again", async () => {
    const vendor = new SmallVendor(10);
    const { ask } = open(vendor);
    await ask("one");
    await ask("two");
    expect(vendor.refused).toHaveLength(1 + 2);
    expect(await ask("three")).toMatchObject({ termination: { type: "error", code: "inference_context_overflow" } });
    expect(vendor.refused).toHaveLength(5);
    expect(vendor.refused.at(-1)?.messages.map(messageText)).toEqual(["three"]);

    // Also where it could be made smaller again and again.
    const shrinking = new SmallVendor(CHARS * 10, () => say(LONG));
    const thread = open(shrinking, {});
    for (let turn = 0; turn < 8; turn++) await thread.ask(`question ${turn}`);
    shrinking.chars = 10;
    expect(await thread.ask("last")).toMatchObject({ termination: { type: "error", code: "inference_context_overflow" } });
    const sizes = shrinking.refused.map(({ messages }) => messages.length);
    expect(sizes).toEqual([17, 7]);
  });

  it("fails with the vendor's words where what makes it shorter cannot be loaded", async () => {
    const vendor = new SmallVendor(CHARS);
    const { ask, warnings } = open(vendor);
    await ask("one");
    vi.spyOn(seldom, "open").mockImplementation(() => Promise.reject(new Error("no such file")));
    vendor.chars = 10;
    expect(await ask("last")).toMatchObject({ termination: { type: "error", code: "inference_context_overflow" } });
    expect(warnings.at(-1)).toContain("cannot be made shorter: no such file");
  });

  it("core-execution 88: also where nobody knows the window, and with a context policy that was too generous", async () => {
    const generous = { contextPolicy: { maxContextTokens: 100_000, maxOutputTokens: 1_000 } };
    for (const [model, agent] of [
      [{}, {}],
      [{}, generous],
      [{ contextWindow: 100_000 }, generous],
    ] as const) {
      const vendor = new SmallVendor(CHARS, () => say(LONG));
      const { ask } = open(vendor, model, agent);
      for (let turn = 0; turn < 6; turn++) expect(await ask(`question ${turn} ${LONG}`)).toMatchObject({ text: LONG });
      expect(vendor.refused.length).toBeGreaterThan(0);
    }
  });

  it("core-execution 88: the steps behind it are as short at once", async () => {
    const vendor = new SmallVendor(CHARS, ({ messages }) => {
      const rounds = messages.filter(({ role }) => role === "tool").length;
      return messages.at(-1)?.role === "user" || rounds < 3 ? [...call(`c${rounds}`, { size: 900 })] : say("done");
    });
    const { ask } = open(vendor);
    for (let turn = 0; turn < 4; turn++) await ask(`${turn} ${LONG}`);
    const before = vendor.refused.length;
    const takenBefore = vendor.taken.length;
    expect(await ask(`last ${LONG.repeat(2)}`)).toMatchObject({ text: "done", steps: 4 });
    expect(vendor.refused.length - before).toBe(1);
    expect(vendor.taken.length - takenBefore).toBe(4);
  });

  it("core-execution 88: huge results of the round that is answered are shortened, each with its call", async () => {
    for (const size of [200_000, 6_000]) {
      const vendor = new SmallVendor(CHARS, ({ messages }) =>
        messages.at(-1)?.role === "user" ? Array.from({ length: 8 }, (_, index) => call(`c${index}`, { size })).flat() : say("read"),
      );
      const { ask, rows } = open(vendor);
      expect(await ask("read them all")).toMatchObject({ text: "read", steps: 2 });
      expect(vendor.refused).toHaveLength(1);
      expect(vendor.taken.at(-1)?.messages.map(({ role }) => role)).toEqual(["user", "assistant", ...Array(8).fill("tool")]);
      expect(lastOf(vendor.taken).at(-1)).toMatch(new RegExp(`^r+\\n\\[preview: \\d+ of ${size} characters`));
      // For the record they are what they were.
      expect(messageText((await rows()).at(2) ?? fail())).toHaveLength(size);
    }
  });

  it("core-execution 88: one question that alone is too long fails at once, and the thread goes on without it", async () => {
    const vendor = new SmallVendor(CHARS);
    const { ask } = open(vendor);
    expect(await ask("x".repeat(2 * CHARS))).toMatchObject({ termination: { type: "error", code: "inference_context_overflow" } });
    expect(vendor.refused).toHaveLength(1);
    expect(await ask("and now?")).toMatchObject({ text: "ok" });
    expect(lastOf(vendor.taken)).toEqual(["and now?"]);
  });

  it("core-execution 88: instructions that leave no room are no reason to ask for ever", async () => {
    const vendor = new SmallVendor(CHARS);
    const { ask } = open(vendor, undefined, { instructions: "i".repeat(2 * CHARS) });
    expect(await ask("hello")).toMatchObject({ termination: { type: "error", code: "inference_context_overflow" } });
    expect(vendor.refused).toHaveLength(1);
  });

  it("core-execution 88: pictures that were looked at are left out, the newest stay", async () => {
    const vendor = new SmallVendor(CHARS);
    const { runtime } = open(vendor);
    const image = (url: string) => ({ type: "image", source: { type: "url", url: `https://pictures.example/${url}` } }) as const;
    for (let turn = 0; turn < 6; turn++) {
      const content = [{ type: "text", text: `picture ${turn}` } as const, image(`${turn}.png`)];
      const result = await runtime.run({ agent: "assistant", thread: "t", input: [{ role: "user", content }] });
      expect(result.text).toBe("ok");
      const shown = vendor.taken.at(-1)?.messages.flatMap(({ content: parts }) => parts.filter(isMedia)) ?? [];
      expect(shown).toContainEqual(image(`${turn}.png`));
    }
    expect(vendor.refused).toHaveLength(5);
    expect(lastOf(vendor.taken).join("\n")).toContain("picture 4[image left out]");
  });

  it("core-execution 88: an answer that grew too long while it was continued goes on with less before it", async () => {
    let parts = 0;
    const vendor = new SmallVendor(CHARS, () => {
      parts += 1;
      return parts > 8 && parts < 11
        ? [
            { type: "text-delta", delta: `part ${parts} ${LONG}` },
            { type: "stop", reason: "max-tokens" },
          ]
        : say(LONG);
    });
    const { ask } = open(vendor);
    for (let turn = 0; turn < 8; turn++) await ask(`question ${turn}`);
    const refused = vendor.refused.length;
    const result = await ask("and at length?");
    expect(result.text).toBe(`part 9 ${LONG}part 10 ${LONG}${LONG}`);
    expect(vendor.refused.length).toBeGreaterThan(refused);
    const sent = vendor.taken.at(-1)?.messages ?? [];
    expect(sent.map(messageText)).toContain("and at length?");
    expect(sent.filter(({ role }) => role === "assistant").map(messageText)).toContain(`part 9 ${LONG}part 10 ${LONG}`);
  });
});

function fail(): never {
  throw new Error("there is no such message");
}
