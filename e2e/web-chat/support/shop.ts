import { join } from "node:path";
import { scopeId, threadId } from "@awaken/contract";
import type { Runtime } from "awaken";
import { sqliteStore } from "awaken/sqlite";
import { openDesk } from "../../../examples/web-chat/agents.ts";
import { demoModel } from "../../../examples/web-chat/demo-model.ts";
import { type Api, openApi, openSite } from "../../../examples/web-chat/site.ts";
import { tempFolder } from "../../durability/support/databases.ts";

/** Holds what comes to it until it is opened; whoever gives up waiting is let go. */
export class Gate {
  readonly #opened = Promise.withResolvers<void>();

  open(): void {
    this.#opened.resolve();
  }

  pass(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      void this.#opened.promise.then(resolve);
    });
  }
}

export interface Shop extends AsyncDisposable {
  readonly url: string;
  /** How the latest run of a thread ended, or that it did not. */
  endOf(thread: string): Promise<string | undefined>;
  /** The model stops before it writes this word. */
  holdAt(word: string): Gate;
  /** Orders that are being looked up. */
  readonly asked: readonly string[];
  /** Lets them be found. */
  readonly courier: Gate;
  /** The server ends in the middle of whatever it does; `start` has another one begin in its place, on the same records. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** The example as it is, on a store of its own, with a model and a courier that wait for the test. */
export async function openShop(page: string, open: (runtime: Runtime) => Api = openApi): Promise<Shop> {
  const folder = tempFolder();
  const path = join(folder.path, "shop.db");
  const held = new Map<string, Gate>();
  const courier = new Gate();
  const asked: string[] = [];
  const begin = (port: number) => {
    const runtime = openDesk({
      provider: demoModel(async (word, signal) => held.get(word.trim())?.pass(signal)),
      store: sqliteStore(path),
      async courier(order, signal) {
        asked.push(order);
        await courier.pass(signal);
        return "on its way";
      },
    });
    return openSite(open(runtime), { page, port });
  };
  let site = await begin(0);
  const { url } = site;
  const store = sqliteStore(path);
  return {
    url,
    async endOf(thread) {
      const run = await store.scoped(scopeId("default")).runs.loadLatest(threadId(thread));
      return run?.status === "done" ? run.outcome.termination.type : run?.status;
    },
    asked,
    courier,
    holdAt(word) {
      const gate = new Gate();
      held.set(word, gate);
      return gate;
    },
    async stop() {
      await site[Symbol.asyncDispose]();
    },
    async start() {
      site = await begin(Number(new URL(url).port));
    },
    async [Symbol.asyncDispose]() {
      for (const gate of [...held.values(), courier]) gate.open();
      await site[Symbol.asyncDispose]();
      await store.close();
      folder[Symbol.dispose]();
    },
  };
}
