import { ask, createRuntime, defineTool, type Plugin, type RuntimeInit } from "@awaken/runtime";
import { type ScriptStep, scripted } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import * as z from "zod";
import { type ObservabilityOptions, observability } from "./observability.ts";
import type { Sink } from "./sink.ts";

export const SECRET = "hunter2-not-for-anybody";

const weather = defineTool({
  id: "weather",
  description: "Current weather",
  input: z.looseObject({ city: z.string() }),
  execute: ({ city }) => ({ city, tempC: 21, sessionToken: SECRET }),
});
const fail = defineTool({
  id: "fail",
  description: "Fails",
  input: z.object({}),
  execute: () => {
    throw new Error(`it was ${SECRET}`);
  },
});
const refund = defineTool({
  id: "refund",
  description: "Refunds",
  input: z.object({ amount: z.number() }),
  approve: () => ask("Refund?"),
  execute: ({ amount }) => ({ refunded: amount }),
});

export interface WatchedInit extends Partial<RuntimeInit> {
  readonly options?: Omit<ObservabilityOptions, "sinks">;
  readonly others?: readonly Plugin[];
}

/** A runtime whose one agent is observed by these sinks. */
export function openWatched(turns: readonly ScriptStep[], sinks: readonly Sink[], init: WatchedInit = {}) {
  const { options, others = [], ...rest } = init;
  const plugins = [observability({ sinks, ...options }), ...others];
  const ids = plugins.map(({ id }) => id);
  const errors: string[] = [];
  const runtime = createRuntime({
    providers: { openai: scripted(turns) },
    models: {
      fast: { provider: "openai", model: "gpt-5-mini", inputTokenPricePerMillionUsd: 2, outputTokenPricePerMillionUsd: 10 },
    },
    agents: { assistant: { model: "fast", instructions: "Be brief.", plugins: ids } },
    tools: [weather, fail, refund],
    plugins,
    store: memoryStore(),
    log: { warn() {}, error: (message) => errors.push(message) },
    ...rest,
  });
  return { runtime, errors, plugins: ids };
}
