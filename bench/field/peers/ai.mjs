// The AI SDK keeps no threads: the caller hands over all messages each time.
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";
import { echo, INSTRUCTIONS, TOOL, USER } from "../scenario.ts";
import { aiSdkModel } from "./ai-sdk-model.mjs";

const tools = {
  [TOOL.name]: tool({
    description: TOOL.description,
    inputSchema: z.strictObject({ text: z.string(), n: z.number() }),
    execute: async (input) => echo(input),
  }),
};

async function stream(options) {
  const result = streamText(options);
  let text = "";
  let deltas = 0;
  for await (const part of result.stream) {
    if (part.type === "error") throw part.error;
    if (part.type !== "text-delta") continue;
    text += part.text;
    deltas += 1;
  }
  return { text, deltas, result };
}

export function open(variant) {
  const start = (scenario) => {
    const options = {
      model: aiSdkModel(scenario, "v4"),
      tools,
      stopWhen: isStepCount(64),
      telemetry: { isEnabled: false },
      maxRetries: 0,
      instructions: INSTRUCTIONS,
    };
    if (variant === "ai") return (prompt) => stream({ ...options, ...prompt });
    return async (prompt) => ({ text: (await generateText({ ...options, ...prompt })).text });
  };
  return {
    startRun(scenario) {
      const play = start(scenario);
      return () => play({ prompt: USER });
    },
    startThread(scenario) {
      const play = start(scenario);
      const messages = [];
      return {
        async turn(content) {
          messages.push({ role: "user", content });
          const played = await play({ messages });
          messages.push(...(await played.result.responseMessages));
          return played;
        },
      };
    },
  };
}
