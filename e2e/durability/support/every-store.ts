import { join } from "node:path";
import type { Provider } from "@awaken/contract";
import { messageText } from "@awaken/contract";
import type { QueueStore, ThreadCommit } from "@awaken/contract/store";
import { createRuntime, type RuntimeInit } from "@awaken/runtime";
import { type ScriptedProvider, soleNode } from "@awaken/runtime/testing";
import { memoryStore } from "@awaken/stores/memory";
import { afterAll, beforeAll, describe } from "vitest";
import { freshSchema, type Server, startServer, tempFolder } from "./databases.ts";
import { openStore } from "./place.ts";

/** The same tests on every engine; `store()` is the one that they share, open while they run. */
export function onEveryStore(title: string, tests: (store: () => QueueStore) => void): void {
  const folder = tempFolder();
  let server: Server;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });
  const engines: readonly (readonly [string, () => Promise<QueueStore>])[] = [
    ["memory", async () => memoryStore()],
    ["SQLite", () => openStore({ type: "sqlite", file: join(folder.path, "tests.db") })],
    ["PostgreSQL", () => openStore({ type: "postgres", url: server.url, schema: freshSchema(server.url).name })],
  ];
  describe.each(engines)(`${title} on %s`, (_, open) => {
    let store: QueueStore;
    beforeAll(async () => {
      store = await open();
    });
    afterAll(() => store.close());
    tests(() => store);
  });
}

/** A process of its own: it knows that whoever was before is gone, and nobody but the test goes on with what is left. */
export const openProcess = (provider: Provider, init: Partial<RuntimeInit>) =>
  createRuntime({
    providers: { scripted: provider },
    models: { fast: { provider: "scripted", model: "scripted-1" } },
    agents: { default: { model: "fast" } },
    log: { warn() {}, error() {} },
    node: soleNode(crypto.randomUUID()),
    workers: false,
    ...init,
  });

/** The store, with somebody who sees each commit before it. */
export function seeing(store: QueueStore, see: (given: ThreadCommit) => Promise<void> | void): QueueStore {
  const watched =
    (commit: QueueStore["commit"]): QueueStore["commit"] =>
    async (given) => {
      await see(given);
      return commit(given);
    };
  const transaction: QueueStore["transaction"] = (work) =>
    store.transaction((ports) => work({ ...ports, commit: watched((given) => ports.commit(given)) }));
  return { ...store, commit: watched((given) => store.commit(given)), transaction };
}

/** What the model was shown last. */
export const prompt = ({ requests }: ScriptedProvider) =>
  requests.at(-1)?.messages.map((message) => `${message.role}: ${messageText(message)}`);
