// A lead sends three researchers out, all at once, and answers when they are back. One of them has to ask before it publishes: the question
// is shown on the lead's run and decided there. The models are scripted, so this runs without a key.
import { messageText } from "@awaken/contract";
import { allow, ask, createRuntime, defineTool } from "awaken";
import { type ScriptStep, scripted, text, toolCall } from "awaken/testing";
import * as z from "zod";

const TOPICS = ["prices", "rivals", "rumours"] as const;

const research = defineTool({
  id: "research",
  description: "Sends researchers out; they report when they are done",
  input: z.object({ topics: z.array(z.string()) }),
  idempotent: true,
  execute: async ({ topics }, { tasks }) => {
    for (const topic of topics) await tasks.spawnAgent({ agent: "researcher", name: topic, input: topic });
    return `sent out: ${topics.join(", ")}`;
  },
});

const publish = defineTool({
  id: "publish",
  description: "Publishes what was found",
  input: z.object({ topic: z.string() }),
  approve: ({ topic }) => (topic === "rumours" ? ask(`Publish ${topic}?`) : allow()),
  execute: ({ topic }) => `${topic} is published`,
});

// What a model says follows from what it reads, in whatever order the others come back.
const lead: ScriptStep = ({ messages }) => {
  const reports = messages.filter(({ metadata }) => metadata?.task?.kind === "completed");
  if (!messages.some(({ role }) => role === "tool")) return toolCall("research", { topics: [...TOPICS] });
  return text(reports.length === TOPICS.length ? "All three are published." : "I wait for the others.");
};
const researcher: ScriptStep = ({ messages }) => {
  const last = messages.at(-1);
  const said = last === undefined ? "" : messageText(last);
  return last?.role === "tool" ? text(said) : toolCall("publish", { topic: said });
};
const forever = (step: ScriptStep) => scripted(new Array<ScriptStep>(50).fill(step));

await using runtime = createRuntime({
  providers: { lead: forever(lead), researcher: forever(researcher) },
  models: { smart: { provider: "lead", model: "scripted-1" }, fast: { provider: "researcher", model: "scripted-1" } },
  agents: {
    lead: { model: "smart", instructions: "Send researchers out, then answer.", tools: ["research"] },
    researcher: { model: "fast", description: "Finds facts", tools: ["publish"] },
  },
  tools: [research, publish],
});

console.log("> What is new?");
const first = await runtime.run({ agent: "lead", thread: "team", input: "What is new?" });
for (let result = first; ; result = await runtime.wait(first.runId)) {
  if (result.status !== "waiting") {
    console.log(`${result.text} [${result.status}]`);
    break;
  }
  for (const ticket of result.tickets) {
    console.log(`  ${(ticket.agentPath ?? []).join(" > ")}: ${ticket.message}`);
    await (await runtime.decide(ticket.id, { action: "approve", by: "ana" })).result;
  }
  await new Promise((resolve) => setTimeout(resolve, 5));
}
