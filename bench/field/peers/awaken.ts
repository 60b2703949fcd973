import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Message, Provider, StreamPart } from "@awaken/contract";
import type { Store } from "@awaken/contract/store";
import { createRuntime, defineTool, type RunRequest } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import * as z from "zod";
import { echo, INSTRUCTIONS, type Played, type Scenario, type Subject, TOOL, USER } from "../scenario.ts";

// Our runtime with everything on: phases, typed state, gates, events, validation, and every commit in a store with its event log.

function countResults(messages: readonly Message[]): number {
  let results = 0;
  for (let index = messages.length - 1; messages[index]?.role !== "user"; index--) if (messages[index]?.role === "tool") results++;
  return results;
}

async function* answer(scenario: Scenario, messages: readonly Message[]): AsyncGenerator<StreamPart> {
  const results = countResults(messages);
  const wait = scenario.enter(messages.length, results);
  if (wait !== undefined) await wait;
  const reply = scenario.reply(results);
  if (reply.type === "text") for (const delta of reply.deltas) yield { type: "text-delta", delta };
  else {
    for (const { id, name, input } of reply.calls) {
      yield { type: "tool-call-start", id, name };
      yield { type: "tool-call-delta", id, delta: JSON.stringify(input) };
    }
  }
  yield { type: "stop", reason: reply.type === "text" ? "end-turn" : "tool-use" };
}

const scripted = (scenario: Scenario): Provider => ({ name: "scripted", stream: ({ messages }) => answer(scenario, messages) });

/** An echo changes nothing outside, and says so. Without it, each of its calls is claimed in a commit of its own before it runs. */
const echoTool = (pure: boolean) =>
  defineTool({
    id: TOOL.name,
    description: TOOL.description,
    input: z.strictObject({ text: z.string(), n: z.number() }),
    pure,
    execute: async (input) => echo(input),
  });

const create = (scenario: Scenario, store: Store, echoed: ReturnType<typeof echoTool>) =>
  createRuntime({
    providers: { scripted: scripted(scenario) },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { assistant: { model: "fast", instructions: INSTRUCTIONS, maxSteps: 64 } },
    tools: [echoed],
    store,
  });

async function play(runtime: ReturnType<typeof create>, request: Omit<RunRequest, "agent">): Promise<Played> {
  let text = "";
  let deltas = 0;
  for await (const event of runtime.stream({ agent: "assistant", ...request })) {
    if (event.type !== "text-delta") continue;
    text += event.delta;
    deltas += 1;
  }
  return { text, deltas };
}

function openStore(variant: string): { readonly store: Store; close(): Promise<void> } {
  if (variant === "awaken") {
    const store = memoryStore();
    return { store, close: () => store.close() };
  }
  const folder = mkdtempSync(join(tmpdir(), "awaken-bench-thread-"));
  const store = sqliteStore(join(folder, "threads.db"), { synchronous: variant === "awaken-sqlite" ? "full" : "normal" });
  return {
    store,
    async close() {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

const RUNS_PER_STORE = 1_000;

export function open(variant = "awaken"): Subject {
  // Defined once, as a program does; a runtime is made anew whenever finished runs are dropped.
  const tool = echoTool(variant !== "awaken-claims");
  let reopen = () => {};
  let runs = 0;
  return {
    startRun(scenario) {
      let store = memoryStore();
      let runtime = create(scenario, store, tool);
      reopen = () => {
        const left = store;
        void runtime.close().then(() => left.close());
        store = memoryStore();
        runtime = create(scenario, store, tool);
      };
      return () => play(runtime, { input: USER });
    },
    startThread(scenario) {
      const { store, close } = openStore(variant);
      const runtime = create(scenario, store, tool);
      return {
        turn: (input) => play(runtime, { thread: "t", input }),
        bytes: async () => (await store.stats()).bytes,
        close,
      };
    },
    // Finished runs stay in the store, so it is replaced now and then.
    prune() {
      runs += 1;
      if (runs % RUNS_PER_STORE === 0) reopen();
    },
  };
}
