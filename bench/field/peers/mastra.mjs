// Mastra's Agent without a Mastra instance and without observability; messages are kept in the thread variants only.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@mastra/core/agent";
import { noopLogger } from "@mastra/core/logger";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { echo, INSTRUCTIONS, TOOL, USER } from "../scenario.ts";
import { aiSdkModel } from "./ai-sdk-model.mjs";

const echoTool = createTool({
  id: TOOL.name,
  description: TOOL.description,
  inputSchema: z.strictObject({ text: z.string(), n: z.number() }),
  execute: async (input) => echo(input),
});

/** The store keeps its log open, so the size is asked of SQLite, and in another process: two libraries on one file break its locks. */
function databaseBytes(file) {
  const program = `const db = new (require("node:sqlite").DatabaseSync)(${JSON.stringify(file)}, { readOnly: true });
    const read = (name) => db.prepare("PRAGMA " + name).get()[name];
    console.log(read("page_count") * read("page_size"));`;
  return Number(execFileSync(process.execPath, ["-e", program], { encoding: "utf8" }));
}

async function openStorage(variant) {
  if (variant !== "mastra-libsql") {
    const { InMemoryStore } = await import("@mastra/core/storage");
    return { storage: new InMemoryStore({ id: "bench" }) };
  }
  const { LibSQLStore } = await import("@mastra/libsql");
  const folder = mkdtempSync(join(tmpdir(), "awaken-bench-mastra-"));
  const file = join(folder, "mastra.db");
  return {
    storage: new LibSQLStore({ id: "bench", url: `file:${file}` }),
    bytes: () => databaseBytes(file),
    close: () => rmSync(folder, { recursive: true }),
  };
}

/** Loads every message of the thread, as the others do. */
async function openMemory(storage) {
  const { Memory } = await import("@mastra/memory");
  const off = { generateTitle: false, semanticRecall: false, workingMemory: { enabled: false } };
  return new Memory({ storage, options: { lastMessages: 100_000, ...off } });
}

function createAgent(scenario, memory) {
  const model = aiSdkModel(scenario, "v4");
  const agent = new Agent({
    id: "bench",
    name: "bench",
    instructions: INSTRUCTIONS,
    model,
    tools: { [TOOL.name]: echoTool },
    memory,
    maxRetries: 0,
  });
  agent.__setLogger(noopLogger);
  return agent;
}

async function play(agent, input, options) {
  const output = await agent.stream(input, { maxSteps: 64, ...options });
  let text = "";
  let deltas = 0;
  for await (const chunk of output.fullStream) {
    if (chunk.type === "error") throw chunk.payload.error;
    if (chunk.type !== "text-delta") continue;
    text += chunk.payload.text;
    deltas += 1;
  }
  return { text, deltas };
}

let seeded = 0;

/** Copies of the thread's first turn under new ids, a second apart. */
function copyTurn([user, assistant]) {
  seeded += 1;
  const at = Date.UTC(2020, 0, 1) + seeded * 1_000;
  const copy = (message, delay) => ({
    ...structuredClone(message),
    id: `seed-${message.role}-${seeded}`,
    createdAt: new Date(at + delay),
  });
  const answer = copy(assistant, 500);
  for (const part of answer.content.parts) if (part.toolInvocation) part.toolInvocation.toolCallId = `seed_${seeded}`;
  return [copy(user, 0), answer];
}

export async function open(variant) {
  const { storage, bytes, close } = await openStorage(variant);
  const memory = await openMemory(storage);
  return {
    startRun(scenario) {
      const agent = createAgent(scenario, undefined);
      return () => play(agent, USER, {});
    },
    startThread(scenario) {
      const agent = createAgent(scenario, memory);
      return {
        turn: (input) => play(agent, input, { memory: { thread: "t", resource: "user" } }),
        async seed(turns) {
          const { messages: first } = await memory.recall({ threadId: "t", resourceId: "user", perPage: false });
          await memory.saveMessages({ messages: Array.from({ length: turns }, () => copyTurn(first)).flat() });
        },
        bytes,
        close,
      };
    },
  };
}
