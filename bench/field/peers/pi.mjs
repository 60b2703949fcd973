// An Agent of pi is one conversation, so every run makes one. Its listener is told of every event.
import { Agent } from "@earendil-works/pi-agent-core";
import { createAssistantMessageEventStream, Type } from "@earendil-works/pi-ai";
import { echo, INSTRUCTIONS, TOOL, USER } from "../scenario.ts";

const price = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
const model = {
  id: "scripted",
  name: "scripted",
  api: "scripted",
  provider: "scripted",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  cost: price,
  contextWindow: 1_000_000,
  maxTokens: 8_192,
};
const usage = { input: 10, output: 20, cacheRead: 0, cacheWrite: 0, totalTokens: 30, cost: { ...price, total: 0 } };

const echoTool = {
  name: TOOL.name,
  label: TOOL.name,
  description: TOOL.description,
  parameters: Type.Object({ text: Type.String(), n: Type.Number() }, { additionalProperties: false }),
  execute: async (_id, input) => ({ content: [{ type: "text", text: echo(input) }], details: undefined }),
};

function countResults(messages) {
  let results = 0;
  for (let index = messages.length - 1; index >= 0 && messages[index].role !== "user"; index--) {
    if (messages[index].role === "toolResult") results++;
  }
  return results;
}

function pushText(stream, partial, deltas) {
  const block = { type: "text", text: "" };
  partial.content.push(block);
  stream.push({ type: "text_start", contentIndex: 0, partial });
  for (const delta of deltas) {
    block.text += delta;
    stream.push({ type: "text_delta", contentIndex: 0, delta, partial });
  }
  stream.push({ type: "text_end", contentIndex: 0, content: block.text, partial });
}

function pushCall(stream, partial, { id, name, input }, contentIndex) {
  const toolCall = { type: "toolCall", id, name, arguments: {} };
  const delta = JSON.stringify(input);
  partial.content.push(toolCall);
  stream.push({ type: "toolcall_start", contentIndex, partial });
  stream.push({ type: "toolcall_delta", contentIndex, delta, partial });
  toolCall.arguments = JSON.parse(delta);
  stream.push({ type: "toolcall_end", contentIndex, toolCall, partial });
}

// Like pi's own providers, it changes one partial message as it goes.
function push(stream, reply) {
  const stopReason = reply.type === "text" ? "stop" : "toolUse";
  const { api, provider, id } = model;
  const message = { role: "assistant", content: [], api, provider, model: id, usage, stopReason, timestamp: Date.now() };
  stream.push({ type: "start", partial: message });
  if (reply.type === "text") pushText(stream, message, reply.deltas);
  else for (const [index, call] of reply.calls.entries()) pushCall(stream, message, call, index);
  stream.push({ type: "done", reason: stopReason, message });
}

const streamOf = (scenario) => (_model, context) => {
  const stream = createAssistantMessageEventStream();
  const results = countResults(context.messages);
  const wait = scenario.enter(context.messages.length, results);
  const answer = () => push(stream, scenario.reply(results));
  if (wait) wait.then(answer);
  else answer();
  return stream;
};

function startConversation(scenario) {
  const agent = new Agent({
    initialState: { systemPrompt: INSTRUCTIONS, model, tools: [echoTool] },
    streamFn: streamOf(scenario),
  });
  let text = "";
  let deltas = 0;
  agent.subscribe((event) => {
    if (event.type !== "message_update" || event.assistantMessageEvent.type !== "text_delta") return;
    text += event.assistantMessageEvent.delta;
    deltas += 1;
  });
  return async (input) => {
    text = "";
    deltas = 0;
    await agent.prompt(input);
    if (agent.state.errorMessage) throw new Error(agent.state.errorMessage);
    return { text, deltas };
  };
}

export function open() {
  return {
    startRun: (scenario) => () => startConversation(scenario)(USER),
    startThread: (scenario) => ({ turn: startConversation(scenario) }),
  };
}
