import { messageText, threadId } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, createRuntime, defineTool, type RuntimeInit } from "awaken";
import { type ScriptStep, scripted } from "awaken/testing";
import * as z from "zod";

export const T = threadId("t");

/** A runtime that stands for one process. It executes nothing but its own runs, unless it is told to. */
export function open(store: QueueStore, turns: readonly ScriptStep[], init: Partial<RuntimeInit> = {}) {
  return createRuntime({
    providers: { scripted: scripted(turns) },
    models: { fast: { provider: "scripted", model: "m" } },
    agents: { default: { model: "fast" } },
    log: { warn() {}, error() {} },
    store,
    workers: false,
    ...init,
  });
}

/** Asks first. */
export const pay = defineTool({
  id: "pay",
  description: "Pays",
  input: z.object({}),
  approve: () => ask("Pay?"),
  execute: () => "paid",
});

/** A tool that lasts until it is released, or its run is told to stop. */
export function slow() {
  const began = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const tool = defineTool({
    id: "slow",
    description: "Lasts",
    input: z.object({}),
    idempotent: true,
    execute: async (_, { signal }) => {
      began.resolve();
      await Promise.race([end.promise, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      return "slept";
    },
  });
  return { tool, began: began.promise, release: end.resolve };
}

export const logOf = async (store: QueueStore, thread = T) =>
  (await store.messages.list(thread, {})).items.map(({ message }) => messageText(message));
