import { type InferenceRequest, type JsonValue, messageText, type TaskEvent } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { memoryStore } from "@awaken/stores/memory";
import { sqliteStore } from "@awaken/stores/sqlite";
import * as z from "zod";
import { createRuntime, type Runtime, type RuntimeInit } from "../../create-runtime.ts";
import { text, toolCall } from "../../testing/script.ts";
import { type ScriptStep, scripted } from "../../testing/scripted.ts";
import { defineTool } from "../../tool/define-tool.ts";
import type { Tool, ToolContext } from "../../tool/tool.ts";

export const STORES: readonly (readonly [string, () => QueueStore | undefined])[] = [
  ["no store", () => undefined],
  ["memory", () => memoryStore()],
  ["sqlite", () => sqliteStore(":memory:")],
];

export const given = (store: QueueStore | undefined) => (store === undefined ? {} : { store });

export type Work = (ctx: ToolContext) => Promise<JsonValue | undefined | void>;

/** Agents with a model of their own each, and a tool `work` that does what the test wants. */
export function office(
  turns: Readonly<Record<string, readonly ScriptStep[]>>,
  init: Omit<Partial<RuntimeInit>, "tools"> & { readonly tools?: readonly Tool[] } = {},
) {
  const ids = Object.keys(turns);
  const models = Object.fromEntries(ids.map((id) => [id, scripted(turns[id] ?? [])]));
  const held: { work: Work } = { work: async () => undefined };
  const work = defineTool({
    id: "work",
    description: "Works",
    input: z.object({}),
    execute: async (_, ctx) => (await held.work(ctx)) ?? null,
  });
  const runtime = createRuntime({
    providers: models,
    models: Object.fromEntries(ids.map((id) => [id, { provider: id, model: "m" }])),
    agents: Object.fromEntries(ids.map((id) => [id, { model: id, description: `The ${id}` }])),
    log: { warn() {}, error() {} },
    ...init,
    tools: [work, ...(init.tools ?? [])],
  });
  /** What the tool does from here on. */
  const does = (next: Work) => {
    held.work = next;
  };
  return { runtime, models, does };
}

export const works = toolCall("work", {});

/** Resolves when the run is over, over all its waits. */
export async function ended(runtime: Runtime, runId: string) {
  for (;;) {
    const result = await runtime.wait(runId);
    if (result.status !== "waiting") return result;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** A model that works once, and then says what it has read last. */
export const leading: readonly ScriptStep[] = new Array<ScriptStep>(50).fill((request: InferenceRequest) => {
  const last = request.messages.at(-1);
  return last?.role === "user" && last.visibility === undefined ? works : text(`read: ${last === undefined ? "" : messageText(last)}`);
});

/** The news that a model was shown, in order. */
export const newsIn = (request: Pick<InferenceRequest, "messages"> | undefined): readonly TaskEvent[] =>
  (request?.messages ?? []).flatMap(({ metadata }) => metadata?.task ?? []);

/** Each runtime stands for a process that finds all others gone. */
export const process = (store: QueueStore) => {
  const name = crypto.randomUUID();
  return { store, node: { name, isGone: (other: string) => other !== name } };
};
