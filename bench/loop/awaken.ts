import type { Message, Provider, Store, StreamPart } from "@awaken/contract";
import { createRuntime, defineTool } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import * as z from "zod";
import { echo, INSTRUCTIONS, type Play, replyTo, type Scenario, USER } from "./scenario.ts";

// Our runtime with everything on: phases, typed state, gates, events, validation, and commits to a store.

function countResults(messages: readonly Message[]): number {
  let results = 0;
  for (let index = messages.length - 1; messages[index]?.role !== "user"; index--) if (messages[index]?.role === "tool") results++;
  return results;
}

async function* answer(scenario: Scenario, messages: readonly Message[]): AsyncGenerator<StreamPart> {
  const results = countResults(messages);
  const gate = scenario.gate(results);
  if (gate !== undefined) await gate;
  const reply = replyTo(scenario, results);
  if (reply.type === "text") for (const delta of reply.deltas) yield { type: "text-delta", delta };
  else {
    for (const { id, args } of reply.calls) {
      yield { type: "tool-call-start", id, name: "echo" };
      yield { type: "tool-call-delta", id, delta: args };
    }
  }
  yield { type: "stop", reason: reply.type === "text" ? "end-turn" : "tool-use" };
}

const scriptedProvider = (scenario: Scenario): Provider => ({
  name: "scripted",
  stream: (request) => answer(scenario, request.messages),
});

const echoTool = defineTool({
  id: "echo",
  description: "Echo the given text back.",
  input: z.strictObject({ text: z.string(), n: z.number() }),
  execute: async ({ text, n }) => echo(text, n),
});

export interface AwakenRun {
  readonly play: Play;
  /** Drops what finished runs left in the store. */
  prune(): void;
}

export function playAwaken(scenario: Scenario, open: () => Store = () => memoryStore()): AwakenRun {
  const create = () =>
    createRuntime({
      providers: { scripted: scriptedProvider(scenario) },
      models: { fast: { provider: "scripted", model: "scripted-1" } },
      agents: { assistant: { model: "fast", instructions: INSTRUCTIONS, maxSteps: 64 } },
      tools: [echoTool],
      store: open(),
    });
  let runtime = create();
  let runs = 0;
  return {
    prune() {
      if (runs % 1_000 === 0) runtime = create();
    },
    async play() {
      runs += 1;
      let text = "";
      let deltas = 0;
      for await (const event of runtime.stream({ agent: "assistant", input: USER })) {
        if (event.type !== "text-delta") continue;
        text += event.delta;
        deltas += 1;
      }
      return { text, deltas };
    },
  };
}
