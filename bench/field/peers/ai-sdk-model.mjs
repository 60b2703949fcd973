// The scripted model as the AI SDK's provider interface wants it, for the peers that take one: ai, mastra, voltagent.

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 20, text: 20, reasoning: undefined },
};
const finished = {
  text: { unified: "stop", raw: "stop" },
  calls: { unified: "tool-calls", raw: "tool_calls" },
};

function countResults(prompt) {
  let results = 0;
  for (let index = prompt.length - 1; index >= 0 && prompt[index].role !== "user"; index--) {
    if (prompt[index].role === "tool") results += prompt[index].content.length;
  }
  return results;
}

function* toParts(reply) {
  yield { type: "stream-start", warnings: [] };
  if (reply.type === "text") {
    yield { type: "text-start", id: "0" };
    for (const delta of reply.deltas) yield { type: "text-delta", id: "0", delta };
    yield { type: "text-end", id: "0" };
  } else {
    for (const { id, name, input } of reply.calls) {
      const json = JSON.stringify(input);
      yield { type: "tool-input-start", id, toolName: name };
      yield { type: "tool-input-delta", id, delta: json };
      yield { type: "tool-input-end", id };
      yield { type: "tool-call", toolCallId: id, toolName: name, input: json };
    }
  }
  yield { type: "finish", finishReason: finished[reply.type], usage };
}

function toContent(reply) {
  if (reply.type === "text") return [{ type: "text", text: reply.deltas.join("") }];
  return reply.calls.map(({ id, name, input }) => ({ type: "tool-call", toolCallId: id, toolName: name, input: JSON.stringify(input) }));
}

export function aiSdkModel(scenario, specificationVersion) {
  const answer = async (prompt) => {
    const results = countResults(prompt);
    const wait = scenario.enter(prompt.length, results);
    if (wait) await wait;
    return scenario.reply(results);
  };
  return {
    specificationVersion,
    provider: "scripted",
    modelId: "scripted-1",
    supportedUrls: {},
    async doStream({ prompt }) {
      const reply = await answer(prompt);
      const stream = new ReadableStream({
        start(controller) {
          for (const part of toParts(reply)) controller.enqueue(part);
          controller.close();
        },
      });
      return { stream };
    },
    async doGenerate({ prompt }) {
      const reply = await answer(prompt);
      return { content: toContent(reply), finishReason: finished[reply.type], usage, warnings: [] };
    },
  };
}
