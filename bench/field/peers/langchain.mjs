// LangChain's createAgent, a LangGraph graph, streaming tokens and the updates of its nodes.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, HumanMessage, isAIMessageChunk, ToolMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, tool } from "langchain";
import { z } from "zod";
import { echo, INSTRUCTIONS, TOOL, USER } from "../scenario.ts";

// Otherwise callbacks run in the background, and a model without latency is done before its deltas are passed on: they are lost.
process.env.LANGCHAIN_CALLBACKS_BACKGROUND = "false";

const echoTool = tool(async (input) => echo(input), {
  name: TOOL.name,
  description: TOOL.description,
  schema: z.strictObject({ text: z.string(), n: z.number() }),
});

function countResults(messages) {
  let results = 0;
  for (let index = messages.length - 1; index >= 0 && messages[index].getType() !== "human"; index--) {
    if (messages[index].getType() === "tool") results++;
  }
  return results;
}

const toChunk = (text, message) => new ChatGenerationChunk({ text, message: new AIMessageChunk(message) });

function* toChunks(reply) {
  if (reply.type === "text") for (const delta of reply.deltas) yield toChunk(delta, { content: delta });
  else {
    const toChunkOfCall = ({ id, name, input }, index) => ({ index, id, name, args: JSON.stringify(input), type: "tool_call_chunk" });
    yield toChunk("", { content: "", tool_call_chunks: reply.calls.map(toChunkOfCall) });
  }
}

class ScriptedModel extends BaseChatModel {
  constructor(scenario) {
    super({});
    this.scenario = scenario;
  }

  _llmType() {
    return "scripted";
  }

  bindTools(tools, options) {
    return this.withConfig({ tools, ...options });
  }

  _generate() {
    throw new Error("the bench streams");
  }

  async *_streamResponseChunks(messages, _options, runManager) {
    const results = countResults(messages);
    const wait = this.scenario.enter(messages.length, results);
    if (wait) await wait;
    for (const chunk of toChunks(this.scenario.reply(results))) {
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

/** What the saver holds: checkpoints, their metadata, pending writes. */
function countBytes({ storage, writes }) {
  let bytes = 0;
  for (const namespaces of Object.values(storage)) {
    for (const checkpoints of Object.values(namespaces)) {
      for (const [checkpoint, metadata] of Object.values(checkpoints)) bytes += checkpoint.length + metadata.length;
    }
  }
  for (const ofCheckpoint of Object.values(writes)) for (const [, , value] of Object.values(ofCheckpoint)) bytes += value.length;
  return bytes;
}

export async function openSaver(variant) {
  if (variant === "langchain") return {};
  if (variant === "langchain-memory") {
    const saver = new MemorySaver();
    return { saver, bytes: () => countBytes(saver) };
  }
  const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
  const folder = mkdtempSync(join(tmpdir(), "awaken-bench-langgraph-"));
  const file = join(folder, "checkpoints.db");
  const saver = SqliteSaver.fromConnString(file);
  return {
    saver,
    bytes() {
      saver.db.pragma("wal_checkpoint(TRUNCATE)");
      return statSync(file).size;
    },
    close() {
      saver.db.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function play(agent, messages, thread) {
  const config = { recursionLimit: 200, ...(thread && { configurable: { thread_id: thread } }) };
  let text = "";
  let deltas = 0;
  for await (const [kind, payload] of await agent.stream({ messages }, { ...config, streamMode: ["messages", "updates"] })) {
    if (kind !== "messages" || !isAIMessageChunk(payload[0]) || payload[0].content === "") continue;
    text += payload[0].content;
    deltas += 1;
  }
  return { text, deltas };
}

function seedTurn(scenario, id) {
  return [
    new HumanMessage(USER),
    new AIMessage({ content: "", tool_calls: [{ id, name: TOOL.name, args: { text: "hello", n: 0 }, type: "tool_call" }] }),
    new ToolMessage({ content: "hello:0", tool_call_id: id, name: TOOL.name }),
    new AIMessage({ content: scenario.text }),
  ];
}

export async function open(variant) {
  const { saver, bytes, close } = await openSaver(variant);
  let ids = 0;
  const create = (scenario) =>
    createAgent({ model: new ScriptedModel(scenario), tools: [echoTool], systemPrompt: INSTRUCTIONS, checkpointer: saver });
  return {
    startRun(scenario) {
      const agent = create(scenario);
      return () => {
        ids += 1;
        return play(agent, [new HumanMessage(USER)], saver && `t${ids}`);
      };
    },
    // Not through deleteThread(), which looks through all pending writes.
    prune() {
      if (!(saver instanceof MemorySaver)) return;
      saver.storage = Object.create(null);
      saver.writes = Object.create(null);
    },
    startThread(scenario) {
      const agent = create(scenario);
      let history = [];
      return {
        turn(input) {
          const messages = [...history, new HumanMessage(input)];
          history = [];
          return play(agent, messages, "t");
        },
        // They go in with the next turn.
        seed(turns) {
          history = Array.from({ length: turns }, () => {
            ids += 1;
            return seedTurn(scenario, `seed_${ids}`);
          }).flat();
        },
        bytes,
        close,
      };
    },
  };
}
