// biome-ignore-all format: as printed in docs/api.md
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { AwakenError, createRuntime } from "awaken";

const runtime = createRuntime({
  providers: { openai },
  models: { fast: { provider: "openai", model: "gpt-5-mini" } },
  agents: { assistant: { model: "fast", instructions: "Be brief." } },
});
const inFlight = runtime.run({ agent: "assistant", thread: "t1", input: "Hello" });

runtime.registry.version;                                   // 1
runtime.registry.registerProvider("backup", anthropic);     // 2; 16 concurrent ones all survive
runtime.registry.previewRemoveProvider("openai");           // { providerId, modelIds, agentIds, blockIfReferencedAllowed, cascadeUnusedModelBindingsAllowed }
try {
runtime.registry.removeProvider("openai", "cascade-unused-model-bindings");     // throws provider_in_use while an agent needs it
} catch (error) {
  if (!AwakenError.is(error)) throw error;
  console.log(error.code, runtime.registry.version);
}
runtime.registry.update((draft) => { draft.agents.assistant = { ...draft.agents.assistant, instructions: "Be kind." }; });
console.log(runtime.registry.version, runtime.registry.previewRemoveProvider("openai"));

// The run that was in flight keeps the snapshot that it started with, the next one has the new instructions.
console.log((await inFlight).text);
console.log((await runtime.run({ agent: "assistant", thread: "t2", input: "Hello" })).text);

// Nobody needs the first vendor any more: now it may go, and its model with it.
runtime.registry.update((draft) => {
  draft.models.kind = { provider: "backup", model: "claude-sonnet-5" };
  draft.agents.assistant = { ...draft.agents.assistant, model: "kind" };
});
const removed = runtime.registry.removeProvider("openai", "cascade-unused-model-bindings");
console.log((await runtime.run({ agent: "assistant", thread: "t3", input: "Hello" })).text, removed);
