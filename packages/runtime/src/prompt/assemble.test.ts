import {
  AwakenError,
  type ContextMessage,
  type InferenceOverride,
  type Message,
  messageId,
  messageText,
  threadId,
  toolCallId,
} from "@awaken/contract";
import { type LocalAgentSpec, type LocalAgentSpecInput, parseAgentSpec } from "@awaken/contract/spec";
import { describe, expect, test } from "vitest";
import { type Command, command } from "../phase/command.ts";
import { StateStore } from "../state/store.ts";
import { countingIds } from "../testing/fake-clock.ts";
import { assemblePrompt } from "./assemble.ts";
import { exclude, includeOnly, override, put as putting } from "./changes.ts";
import { contextMessages } from "./context-messages.ts";
import { inferenceOverrides } from "./inference-overrides.ts";
import { applyTransforms, type PromptedRun, type PromptInput } from "./request.ts";
import { seldom } from "./seldom-door.ts";
import { toolFilter } from "./tool-filter.ts";

await seldom.open();

function local(input: LocalAgentSpecInput = {}): LocalAgentSpec {
  const spec = parseAgentSpec("a", input);
  if (spec.type !== "local") throw new TypeError("a local agent is needed");
  return spec;
}

function openStore(first: Command = command()): StateStore {
  const store = new StateStore({ warn() {}, error() {} });
  store.register([contextMessages, toolFilter, inferenceOverrides]);
  store.commit(first);
  return store;
}

const TOOL_IDS = ["a", "b", "c"];
const TOOLS = TOOL_IDS.map((id) => ({ id, description: id, parameters: {} }));
const user = (text: string): Message => ({ id: messageId(text), role: "user", content: [{ type: "text", text }] });
const system = (text: string): Message => ({ ...user(text), role: "system", content: [{ type: "text", text }] });
const MESSAGES = [user("hello")];

const RUN: PromptedRun = { ids: countingIds("context"), madeMessages: undefined };

function assemble(store: StateStore, given: Partial<PromptInput> = {}) {
  const prompt = assemblePrompt({
    agent: local({ instructions: "be brief" }),
    model: "model-1",
    tools: TOOLS,
    toolIds: TOOL_IDS,
    messages: MESSAGES,
    state: store.snapshot(),
    transforms: [],
    runOverrides: undefined,
    canOverrideModel: true,
    maxOutputTokens: undefined,
    routing: { threadId: threadId("t") },
    responseFormat: undefined,
    run: RUN,
    ...given,
  });
  if (prompt instanceof Promise) throw new TypeError("all is loaded");
  if (prompt.cleanup !== undefined) store.commit(prompt.cleanup);
  return prompt;
}

const setStep = (given: InferenceOverride) => command().update(inferenceOverrides, override(given));

function put(key: string, target: ContextMessage["target"], more: Partial<ContextMessage> = {}): Command {
  const rest = { cooldownSteps: 0, persistent: false, consumeAfterEmit: false, priority: 0 };
  return command().update(contextMessages, putting({ key, role: "system", content: key, target, ...rest, ...more }));
}

const texts = (messages: readonly Message[]) => messages.map(messageText);

describe("assemblePrompt", () => {
  test("what the page shows is one internal message before what the user said last, the same one in every step", () => {
    const store = openStore();
    const messages = [
      user("first"),
      { ...user("answer"), role: "assistant" } as const,
      user("last"),
      { ...user("more"), role: "assistant" } as const,
    ];
    const frontendContext = { page: "orders" };
    const { request } = assemble(store, { messages, frontendContext });
    expect(texts(request.messages)).toEqual([
      "first",
      "answer",
      '<frontend-context>\n{"page":"orders"}\n</frontend-context>',
      "last",
      "more",
    ]);
    expect(request.messages[2]).toMatchObject({ role: "system", visibility: "internal" });
    expect(assemble(store, { messages, frontendContext }).request.messages[2]).toBe(request.messages[2]);
  });

  test("a step that nobody changed gets the very messages and tools, and leaves nothing to clear", () => {
    const store = openStore();
    const { request, offeredTools, cleanup } = assemble(store);
    expect(request.messages).toBe(MESSAGES);
    expect(request.tools).toBe(TOOLS);
    expect(cleanup).toBeUndefined();
    expect(assemble(store).offeredTools).toBe(offeredTools);
    expect(request).toEqual({
      model: "model-1",
      system: "be brief",
      messages: MESSAGES,
      tools: TOOLS,
      promptCache: false,
      routing: { threadId: "t" },
    });
  });

  test("core-execution 40: step beats run beats agent per field, and the next step knows nothing of it", () => {
    const agent = local({ reasoningEffort: "low" });
    const runOverrides = { temperature: 0.5, maxTokens: 100, reasoningEffort: "medium" } as const;
    const store = openStore(setStep({ temperature: 0, upstreamModel: "model-2" }));
    store.commit(setStep({ topP: 0.1, upstreamModel: "model-3" }));

    expect(assemble(openStore(), { agent }).request.overrides).toEqual({ reasoningEffort: "low" });
    const first = assemble(store, { agent, runOverrides }).request;
    expect(first.model).toBe("model-3");
    expect(first.overrides).toEqual({ temperature: 0, maxTokens: 100, topP: 0.1, reasoningEffort: "medium" });
    const second = assemble(store, { agent, runOverrides });
    expect(second.request.model).toBe("model-1");
    expect(second.request.overrides).toEqual(runOverrides);
    expect(second.cleanup).toBeUndefined();
  });

  test("core-execution 41: include-only [a,b] and exclude b offer only a, for one step", () => {
    const store = openStore(
      command()
        .update(toolFilter, includeOnly(["a", "b"]))
        .update(toolFilter, exclude(["b"])),
    );
    const { request, offeredTools } = assemble(store);
    expect(request.tools.map((tool) => tool.id)).toEqual(["a"]);
    expect(offeredTools).toEqual(["a"]);
    expect(assemble(store).request.tools).toBe(TOOLS);
  });

  test("several include-only lists add up", () => {
    const only = (tools: readonly string[]) => command().update(toolFilter, includeOnly(tools));
    const store = openStore(only(["a"]));
    store.commit(only(["c"]));
    expect(assemble(store).offeredTools).toEqual(["a", "c"]);
  });

  test("an answer is never asked longer than the model can give", () => {
    const given = { runOverrides: { maxTokens: 9_000 }, maxOutputTokens: 4_096 };
    expect(assemble(openStore(), given).request.overrides).toEqual({ maxTokens: 4_096 });
    expect(assemble(openStore(), { maxOutputTokens: 4_096 }).request.overrides).toBeUndefined();
  });

  test("a pool refuses to be asked for one model", () => {
    const given = { runOverrides: { upstreamModel: "x" }, canOverrideModel: false };
    expect(() => assemble(openStore(), given)).toThrow(AwakenError);
    expect(() => assemble(openStore(setStep({ upstreamModel: "x" })), { canOverrideModel: false })).toThrow(
      expect.objectContaining({ code: "invalid_activation" }),
    );
    expect(assemble(openStore(), { runOverrides: { temperature: 1 }, canOverrideModel: false }).request.model).toBe("model-1");
  });

  test("context messages stand where their target says, by priority, then by key", () => {
    const store = openStore();
    for (const one of [
      put("suffix", "suffix-system"),
      put("talk", "conversation", { role: "user" }),
      put("session-b", "session", { priority: 1 }),
      put("session-z", "session", { priority: -1 }),
      put("session-a", "session", { priority: 1 }),
      put("first", "system"),
    ]) {
      store.commit(one);
    }
    const { request } = assemble(store, { messages: [system("summary"), user("hi"), user("there")] });
    expect(texts(request.messages)).toEqual(["first", "summary", "session-z", "session-a", "session-b", "talk", "hi", "there", "suffix"]);
    expect(request.messages[0]).toMatchObject({ id: "context-1", role: "system", visibility: "internal" });
    expect(request.messages[5]?.role).toBe("user");
  });

  test("one-shot context messages are gone in the next step, persistent ones come again as the same message", () => {
    const store = openStore(put("once", "suffix-system"));
    store.commit(put("always", "suffix-system", { persistent: true }));
    store.commit(put("emitted", "suffix-system", { persistent: true, consumeAfterEmit: true }));
    const first = assemble(store).request.messages;
    expect(texts(first)).toEqual(["hello", "always", "emitted", "once"]);
    const second = assemble(store);
    expect(texts(second.request.messages)).toEqual(["hello", "always"]);
    expect(second.request.messages[1]).toBe(first[1]);
    expect(second.cleanup).toBeUndefined();
  });

  test("transforms run in order on what was placed, with the tools that are offered", () => {
    const store = openStore(put("note", "suffix-system"));
    store.commit(command().update(toolFilter, exclude(["a"])));
    const seen: string[][] = [];
    const transforms = [
      (messages: readonly Message[], tools: PromptInput["tools"]) => {
        seen.push(texts(messages), [...tools.map((tool) => tool.id)]);
        return messages.slice(1);
      },
      (messages: readonly Message[]) => [...messages, user("last")],
    ];
    expect(texts(assemble(store, { transforms }).request.messages)).toEqual(["note", "last"]);
    expect(seen).toEqual([
      ["hello", "note"],
      ["b", "c"],
    ]);
    expect(applyTransforms(MESSAGES, TOOLS, [])).toBe(MESSAGES);
  });

  test("the policy decides about the prompt cache; a wanted format travels along", () => {
    const responseFormat = { schema: { type: "object" } };
    const { request } = assemble(openStore(), { agent: local({ contextPolicy: {} }), responseFormat });
    expect(request).toMatchObject({ promptCache: true, responseFormat });
    expect(assemble(openStore(), { agent: local({ contextPolicy: { enablePromptCache: false } }) }).request.promptCache).toBe(false);
  });

  test("context messages at the end do not come between a call and its result", () => {
    const call: Message = {
      id: messageId("call"),
      role: "assistant",
      content: [{ type: "tool-call", id: toolCallId("1"), name: "a", input: {} }],
    };
    const result: Message = { ...user("done"), role: "tool", toolCallId: toolCallId("1"), toolName: "a", status: "success", content: [] };
    const { request } = assemble(openStore(put("note", "suffix-system")), { messages: [...MESSAGES, call, result] });
    expect(request.messages.slice(1, 3)).toEqual([call, result]);
  });
});
