import { join } from "node:path";
import type { RuntimeInit, Tool } from "@awaken/runtime";
import { type Access, type RunningServer, serve } from "@awaken/server";
import { tempFolder } from "../../durability/support/databases.ts";
import { type Engine, openShared, type Shared } from "../../relay/support/nodes.ts";
import { quiet } from "../../relay/support/speaker.ts";
import { held } from "../../server/support/named.ts";
import { journalOf, openAgent } from "./agent.ts";

/** The agent for pages behind a server of this process. */
export interface Site extends AsyncDisposable {
  readonly url: string;
  readonly server: RunningServer;
  readonly store: Shared["stores"][0];
  journal(): readonly string[];
}

export interface SiteInit extends Pick<RuntimeInit, "plugins"> {
  /** That of the store. */
  readonly clock?: () => number;
  /** Default: everybody is let in. */
  readonly access?: Access;
}

/** `tools` are offered beside those of the agent, and to its delegate. */
export async function openSite(engine: Engine, tools: readonly Tool[] = [], { clock, access, ...init }: SiteInit = {}): Promise<Site> {
  const shared = await openShared(engine, clock === undefined ? {} : { clock });
  const folder = tempFolder();
  const journal = join(folder.path, "journal");
  const runtime = openAgent(shared.stores[0], { journal, tools, ...init });
  const server = await serve(held({ runtime, port: 0, log: quiet, ...(access === undefined ? undefined : { access }) }));
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
