import { appendFileSync, readFileSync } from "node:fs";
import { messageText } from "@awaken/contract";
import { type ScriptStep, scripted, text, toolCall } from "@awaken/runtime/testing";
import { allow, ask, defineTool, type RuntimeInit } from "awaken";
import * as z from "zod";

export const RESEARCHERS = 20;

/** One in four asks before it publishes. */
export const isCareful = (topic: number): boolean => topic % 4 === 0;

/** What was done outside, and under which key: a ledger that outlives processes. */
export interface Effects {
  add(key: string): void;
  has(key: string): boolean;
  all(): readonly string[];
}

export function memoryEffects(): Effects {
  const keys: string[] = [];
  return { add: (key) => void keys.push(key), has: (key) => keys.includes(key), all: () => keys };
}

export function fileEffects(file: string): Effects {
  appendFileSync(file, "");
  const all = () => readFileSync(file, "utf8").split("\n").filter(Boolean);
  return { add: (key) => appendFileSync(file, `${key}\n`), has: (key) => all().includes(key), all };
}

/** Says what follows from the conversation alone: it may be asked in any process. */
const always = (say: (request: Parameters<Extract<ScriptStep, (...args: never[]) => unknown>>[0]) => ReturnType<typeof text>) =>
  scripted(new Array<ScriptStep>(2_000).fill(say));

const leading = always(({ messages }) => {
  const news = new Set(messages.flatMap(({ metadata }) => (metadata?.task?.kind === "completed" ? metadata.task.taskId : [])));
  if (!messages.some(({ role }) => role === "tool")) return toolCall("hire", {}, { id: "hire" });
  return text(`${news.size} of ${RESEARCHERS} are in`);
});

const researching = always(({ messages }) => {
  const asked = messages[0] === undefined ? "" : messageText(messages[0]);
  const topic = Number(asked.replace("topic ", ""));
  const done = messages.filter(({ role }) => role === "tool").length;
  if (done === 0) return toolCall("look", { topic }, { id: "look" });
  if (done === 1) return toolCall("publish", { topic }, { id: "publish" });
  return text(`report on ${topic}`);
});

/** `pause`: how long a look takes, as the schedule has it. */
export function swarmInit(effects: Effects, pause: () => Promise<void>): RuntimeInit {
  const hire = defineTool({
    id: "hire",
    description: "Sends researchers out",
    input: z.object({}),
    idempotent: true,
    execute: async (_, { tasks }) => {
      for (let topic = 0; topic < RESEARCHERS; topic++) await tasks.spawnAgent({ agent: "researcher", input: `topic ${topic}` });
      return "sent out";
    },
  });
  const look = defineTool({
    id: "look",
    description: "Looks something up",
    input: z.object({ topic: z.number() }),
    idempotent: true,
    execute: async ({ topic }) => {
      await pause();
      return { topic };
    },
  });
  const publish = defineTool({
    id: "publish",
    description: "Publishes",
    input: z.object({ topic: z.number() }),
    approve: ({ topic }) => (isCareful(topic) ? ask(`Publish ${topic}?`) : allow()),
    reconcile: (_, { idempotencyKey }) => (effects.has(idempotencyKey) ? { type: "done", data: "published" } : { type: "not-done" }),
    execute: (_, { idempotencyKey }) => {
      effects.add(idempotencyKey);
      return "published";
    },
  });
  return {
    providers: { lead: leading, researcher: researching },
    models: { lead: { provider: "lead", model: "m" }, researcher: { provider: "researcher", model: "m" } },
    agents: {
      // It may be woken for each of them.
      lead: { model: "lead", tools: ["hire"], maxSteps: 100 },
      researcher: { model: "researcher", description: "Finds facts", tools: ["look", "publish"] },
    },
    tools: [hire, look, publish],
    log: { warn() {}, error() {} },
  };
}
