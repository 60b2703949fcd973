// Streamed runs of the OpenAI Agents SDK with a model of our own; tracing is off.
import { Agent, MemorySession, Runner, setTracingDisabled, tool } from "@openai/agents";
import { z } from "zod";
import { echo, INSTRUCTIONS, TOOL, USER } from "../scenario.ts";

setTracingDisabled(true);

const echoTool = tool({
  name: TOOL.name,
  description: TOOL.description,
  parameters: z.strictObject({ text: z.string(), n: z.number() }),
  execute: async (input) => echo(input),
});

function countResults(input) {
  let results = 0;
  for (let index = input.length - 1; index >= 0 && input[index].role !== "user"; index--) {
    if (input[index].type === "function_call_result") results++;
  }
  return results;
}

function toOutput(reply) {
  if (reply.type === "text") {
    return [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: reply.deltas.join("") }] }];
  }
  return reply.calls.map(({ id, name, input }) => ({
    type: "function_call",
    callId: id,
    name,
    status: "completed",
    arguments: JSON.stringify(input),
  }));
}

const usage = { inputTokens: 10, outputTokens: 20, totalTokens: 30 };

const modelOf = (scenario) => ({
  getResponse() {
    throw new Error("the bench streams");
  },
  async *getStreamedResponse({ input }) {
    const results = typeof input === "string" ? 0 : countResults(input);
    const wait = scenario.enter(input.length, results);
    if (wait) await wait;
    const reply = scenario.reply(results);
    yield { type: "response_started" };
    if (reply.type === "text") for (const delta of reply.deltas) yield { type: "output_text_delta", delta };
    yield { type: "response_done", response: { id: "response", usage, output: toOutput(reply) } };
  },
});

let seeded = 0;

export function open() {
  const start = (scenario) => {
    const agent = new Agent({ name: "bench", instructions: INSTRUCTIONS, model: modelOf(scenario), tools: [echoTool] });
    const runner = new Runner({ tracingDisabled: true });
    return async (input, session) => {
      const result = await runner.run(agent, input, { stream: true, maxTurns: 64, session });
      let text = "";
      let deltas = 0;
      for await (const event of result) {
        if (event.type !== "raw_model_stream_event" || event.data.type !== "output_text_delta") continue;
        text += event.data.delta;
        deltas += 1;
      }
      await result.completed;
      return { text, deltas };
    };
  };
  return {
    startRun(scenario) {
      const play = start(scenario);
      return () => play(USER);
    },
    startThread(scenario) {
      const play = start(scenario);
      const session = new MemorySession();
      return {
        turn: (input) => play(input, session),
        async seed(turns) {
          const first = (await session.getItems()).slice(0, 4);
          for (let turn = 0; turn < turns; turn++) {
            seeded += 1;
            const callId = `seed_${seeded}`;
            await session.addItems(first.map((item) => (item.callId ? { ...item, callId } : item)));
          }
        },
      };
    },
  };
}
