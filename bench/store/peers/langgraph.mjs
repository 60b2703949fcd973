// The conversation of step.ts as the least LangGraph graph that plays it: a node that calls the tool, a node that answers, a SqliteSaver.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { STEP_TEXTS, stepInput } from "../step.ts";

const CALL = "call_8Hq2mZ";

function createGraph(steps, checkpointer) {
  let step = 0;
  const ask = () => {
    const call = { id: CALL, name: STEP_TEXTS.toolName, args: stepInput(step), type: "tool_call" };
    return { messages: [new AIMessage({ content: STEP_TEXTS.said, tool_calls: [call] })] };
  };
  const answer = () => {
    step += 1;
    return { messages: [new ToolMessage({ content: STEP_TEXTS.result, tool_call_id: CALL, name: STEP_TEXTS.toolName })] };
  };
  return new StateGraph(MessagesAnnotation)
    .addNode("ask", ask)
    .addNode("answer", answer)
    .addEdge(START, "ask")
    .addEdge("ask", "answer")
    .addConditionalEdges("answer", () => (step < steps ? "ask" : END))
    .compile({ checkpointer });
}

/** Bytes of the database after one run of so many steps in a fresh file. */
export async function storeSteps(steps) {
  const folder = mkdtempSync(join(tmpdir(), "awaken-bench-saver-"));
  const file = join(folder, "checkpoints.db");
  const saver = SqliteSaver.fromConnString(file);
  try {
    const config = { recursionLimit: 2 * steps + 10, configurable: { thread_id: "t" } };
    const { messages } = await createGraph(steps, saver).invoke({ messages: [] }, config);
    if (messages.length !== 2 * steps) throw new Error(`${messages.length} messages, expected ${2 * steps}`);
    saver.db.pragma("wal_checkpoint(TRUNCATE)");
    return statSync(file).size;
  } finally {
    saver.db.close();
    rmSync(folder, { recursive: true });
  }
}
