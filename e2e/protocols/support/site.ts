import { join } from "node:path";
import type { Tool } from "@awaken/runtime";
import { type RunningServer, serve } from "@awaken/server";
import { tempFolder } from "../../durability/support/databases.ts";
import { type Engine, openShared, type Shared } from "../../relay/support/nodes.ts";
import { quiet } from "../../relay/support/speaker.ts";
import { journalOf, openAgent } from "./agent.ts";

/** The agent for pages behind a server of this process. */
export interface Site extends AsyncDisposable {
  readonly url: string;
  readonly server: RunningServer;
  readonly store: Shared["stores"][0];
  journal(): readonly string[];
}

/** `tools` are offered beside those of the agent; `clock` is that of the store. */
export async function openSite(engine: Engine, tools: readonly Tool[] = [], clock?: () => number): Promise<Site> {
  const shared = await openShared(engine, clock === undefined ? {} : { clock });
  const folder = tempFolder();
  const journal = join(folder.path, "journal");
  const server = await serve({ runtime: openAgent(shared.stores[0], { journal, tools }), port: 0, log: quiet });
  return {
    url: server.url,
    server,
    store: shared.stores[0],
    journal: () => journalOf(journal),
    async [Symbol.asyncDispose]() {
      await server.close();
      await shared[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
