import { messageText, type Provider } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { ask, type Clock, createRuntime, defineTool, type Runtime } from "@awaken/runtime";
import { scripted, text, toolCall } from "@awaken/runtime/testing";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import * as z from "zod";

/** Where the queue is, so that another process can open the same one. */
export type Place = { readonly type: "sqlite"; readonly file: string } | { readonly type: "postgres"; readonly url: string };

export const openStore = (place: Place): QueueStore =>
  place.type === "sqlite" ? sqliteStore(place.file) : postgresStore(place.url, { connections: 8 });

/** What a run is asked: a plain answer, a tool between two turns, or what it then waits for a decision about. */
export const ASKED = { "one turn": "hello", "three steps": "look", waiting: "pay" } as const;
export type Kind = keyof typeof ASKED;

/** A model that answers at once. */
const model: Provider = {
  name: "instant",
  stream(request, options) {
    const last = request.messages.at(-1);
    const asked = last?.role === "user" ? messageText(last) : "";
    const isCall = asked === ASKED["three steps"] || asked === ASKED.waiting;
    return scripted([isCall ? toolCall(asked, {}) : text("hello")]).stream(request, options);
  },
};

const look = defineTool({ id: "look", description: "Looks", input: z.object({}), idempotent: true, execute: () => ({ ok: true }) });

const pay = defineTool({ id: "pay", description: "Pays", input: z.object({}), approve: () => ask("Pay?"), execute: () => "paid" });

export const openRuntime = (store: QueueStore, workers: boolean, clock?: Clock): Runtime =>
  createRuntime({
    ...(clock === undefined ? undefined : { clock }),
    providers: { instant: model },
    models: { fast: { provider: "instant", model: "m" } },
    agents: { default: { model: "fast" } },
    tools: [look, pay],
    store,
    workers,
    concurrency: 16,
  });
