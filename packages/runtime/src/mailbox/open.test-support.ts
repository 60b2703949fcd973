import type { QueueStore } from "@awaken/contract/store";
import { createRuntime, type Runtime, type RuntimeInit } from "../create-runtime.ts";
import { type ScriptStep, scripted } from "../testing/scripted.ts";

/** A runtime that stands for one process, with one agent that says what is scripted. Nothing is logged. */
export function open(store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}): Runtime {
  return createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    log: { warn() {}, error() {} },
    store,
    ...init,
  });
}
