import { messageText, type Provider, type StreamPart } from "@awaken/contract";
import type { QueueStore } from "@awaken/contract/store";
import { createRuntime, type Runtime } from "@awaken/runtime";
import { memoryStore } from "@awaken/stores/memory";
import { postgresStore } from "@awaken/stores/postgres";
import { sqliteStore } from "@awaken/stores/sqlite";
import { WORDS } from "./frames.ts";

export type Place =
  | { readonly type: "memory" }
  | { readonly type: "sqlite"; readonly file: string }
  | { readonly type: "postgres"; readonly url: string };

function openStore(place: Place): QueueStore {
  if (place.type === "memory") return memoryStore();
  return place.type === "sqlite" ? sqliteStore(place.file) : postgresStore(place.url, { connections: 8 });
}

/** Whoever is asked this answers at length. */
export const AT_LENGTH = "at length";
const LONG = "x".repeat(2_000);

async function* answer(isLong: boolean): AsyncGenerator<StreamPart> {
  if (isLong) for (let part = 0; part < 500; part++) yield { type: "text-delta", delta: LONG };
  else for (const delta of WORDS) yield { type: "text-delta", delta };
  yield { type: "stop", reason: "end-turn" };
}

const instant: Provider = {
  name: "instant",
  stream({ messages }) {
    const last = messages.at(-1);
    return answer(last !== undefined && messageText(last) === AT_LENGTH);
  },
};

/** A runtime as users have it, with a model that answers at once. */
export const openRuntime = (place: Place): Runtime =>
  createRuntime({
    providers: { instant },
    models: { fast: { provider: "instant", model: "m" } },
    agents: { assistant: { model: "fast", instructions: "You are a helpful assistant." } },
    store: openStore(place),
  });
