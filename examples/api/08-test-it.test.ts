// biome-ignore-all format: as printed in docs/api.md
// biome-ignore-all assist/source/organizeImports: as printed in docs/api.md
import { createRuntime, defineTool } from "awaken";
import { scripted, text, toolCall, fakeClock } from "awaken/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const weather = defineTool({
  id: "weather",
  description: "Current weather for a city",
  input: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, tempC: 21 }),
});
const models = { fast: { provider: "openai", model: "gpt-5-mini" } };
const agents = { assistant: { model: "fast" } };

test("asks the tool, then answers", async () => {
const model = scripted([toolCall("weather", { city: "Oslo" }), text("21 degrees.")]);
const runtime = createRuntime({ providers: { openai: model }, models, agents, tools: [weather], clock: fakeClock() });

  const result = await runtime.run({ agent: "assistant", input: "Weather in Oslo?" });
  expect(result).toMatchObject({ status: "done", text: "21 degrees.", steps: 2 });
  expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: "tool", content: [{ text: '{"city":"Oslo","tempC":21}' }] });
  model.assertDone();
});

test("a call that the script did not expect fails the run, and what was not used fails the test", async () => {
  const asked = scripted([toolCall("weather", { city: "Oslo" })]);
  const runtime = createRuntime({ providers: { openai: asked }, models, agents, tools: [weather] });
  const { termination } = await runtime.run({ agent: "assistant", input: "Weather in Oslo?" });
  expect(termination).toMatchObject({ type: "error", code: "inference_failed" });
  expect(() => asked.assertDone()).toThrowError(/called 1 times more than its script/);
  expect(() => scripted([text("never said")]).assertDone()).toThrowError(/1 of 1 scripted turns were not used/);
});
