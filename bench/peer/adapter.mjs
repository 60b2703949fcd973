// Our runtime as a peer of the field's harness: copy the harness, put this file into peers/awaken/, name `awaken` in its plan, and run it with
// NODE_OPTIONS=--conditions=awaken-source. AWAKEN_ROOT is this repository.
import { pathToFileURL } from "node:url";
import { echo, SYSTEM, TOOL, USER } from "../../lib/scenario.mjs";

const load = (path) => import(pathToFileURL(`${process.env.AWAKEN_ROOT}/${path}`).href);
const { createRuntime, defineTool } = await load("packages/runtime/src/index.ts");
const { memoryStore } = await load("packages/stores/src/memory/index.ts");
const z = await load("node_modules/zod/index.js");

export const variants = { awaken: {} };
export const threadVariants = { awaken: {} };

const echoTool = defineTool({
  id: TOOL.name,
  description: TOOL.description,
  input: z.strictObject({ text: z.string(), n: z.number() }),
  execute: async (input) => echo(input),
});

function countResults(messages) {
  let results = 0;
  for (let index = messages.length - 1; messages[index].role !== "user"; index--) if (messages[index].role === "tool") results++;
  return results;
}

const model = (s) => ({
  name: "scripted",
  async *stream({ messages }) {
    s.saw(messages.length);
    const results = countResults(messages);
    const wait = s.wait(results);
    if (wait) await wait;
    const { text, tools } = s.reply(results);
    if (text) for (const delta of text) yield { type: "text-delta", delta };
    else {
      for (const { id, name, args } of tools) {
        yield { type: "tool-call-start", id, name };
        yield { type: "tool-call-delta", id, delta: JSON.stringify(args) };
      }
    }
    yield { type: "stop", reason: text ? "end-turn" : "tool-use" };
  },
});

const open = (s) =>
  createRuntime({
    providers: { scripted: model(s) },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { assistant: { model: "fast", instructions: SYSTEM, maxSteps: 64 } },
    tools: [echoTool],
    store: memoryStore(),
  });

async function play(runtime, request) {
  let text = "";
  let deltas = 0;
  let events = 0;
  for await (const event of runtime.stream({ agent: "assistant", ...request })) {
    events += 1;
    if (event.type !== "text-delta") continue;
    text += event.delta;
    deltas += 1;
  }
  return { text, deltas, events };
}

export function create() {
  let reopen = () => {};
  let runs = 0;
  return {
    makeRun(s) {
      let runtime = open(s);
      reopen = () => {
        runtime = open(s);
      };
      return () => play(runtime, { input: USER });
    },
    makeThread(s) {
      const runtime = open(s);
      return { turn: (input) => play(runtime, { thread: "t", input }) };
    },
    // Finished runs stay in the store: it is dropped now and then.
    prune() {
      runs += 1;
      if (runs % 500 === 0) reopen();
    },
  };
}
