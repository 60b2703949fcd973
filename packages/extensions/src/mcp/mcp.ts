import { AwakenError, didYouMean } from "@awaken/contract";
import { definePlugin, type Plugin, type PluginHost, type Tool } from "@awaken/runtime";
import { complete, getPrompt, listPrompts, listResources, readResource, subscribe } from "./catalogue.ts";
import { loadSdk } from "./load-sdk.ts";
import { Server } from "./server.ts";
import { readServers, type ServerSetup } from "./setup.ts";
import { MCP_PREFIX } from "./tool-id.ts";
import type { McpOptions, McpServers, McpStatus } from "./types.ts";

/** The plugin, with its servers at hand. */
export interface McpPlugin extends Plugin {
  /** To show and steer the servers. */
  readonly servers: McpServers;
}

const notYet = ({ spec }: ServerSetup): McpStatus => ({
  id: spec.id,
  transport: spec.type,
  state: "disconnected",
  lastError: undefined,
  tools: [],
  leftOut: [],
  consecutiveFailures: 0,
  lastAttemptAt: undefined,
  lastSuccessAt: undefined,
  lastInitAt: undefined,
  sessionGeneration: 0,
  transportReconnectCount: 0,
  protocolVersion: undefined,
});

/** All servers of one plugin. Runtimes that share the plugin share its connections; the last one that closes ends them. */
class Servers implements McpServers {
  readonly #options: McpOptions;
  readonly #setups: readonly ServerSetup[];
  #servers: ReadonlyMap<string, Server> = new Map();
  #tools: readonly Tool[] = Object.freeze([]);
  #users = 0;
  #opening: Promise<void> | undefined;
  #closing: Promise<void> = Promise.resolve();
  #stopTimer = () => {};
  readonly #kill = () => {
    for (const server of this.#servers.values()) server.kill();
  };

  constructor(options: McpOptions) {
    this.#options = options;
    this.#setups = readServers(options);
  }

  snapshot(): readonly Tool[] {
    return this.#tools;
  }

  #collect(): void {
    this.#tools = Object.freeze([...this.#servers.values()].flatMap(({ tools }) => tools));
  }

  async open(host: PluginHost): Promise<() => Promise<void>> {
    this.#users += 1;
    try {
      this.#opening ??= this.#closing.then(() => this.#open(host));
      await this.#opening;
    } catch (thrown) {
      await this.#leave();
      throw thrown;
    }
    return () => this.#leave();
  }

  async #open({ clock, log, model }: PluginHost): Promise<void> {
    const sdk = await loadSdk();
    const { samplingByAgent = {}, refreshMs = 0 } = this.#options;
    const parts = { sdk, clock, log, findModel: model, samplingByAgent, onChanged: () => this.#collect() };
    this.#servers = new Map(this.#setups.map((setup) => [setup.spec.id, new Server(setup, parts)]));
    process.on("exit", this.#kill);
    await Promise.all([...this.#servers.values()].map((server) => server.open()));
    const again = () => {
      this.#stopTimer = clock.timer(refreshMs, () => {
        for (const server of this.#servers.values()) void server.refresh();
        again();
      });
    };
    if (refreshMs > 0 && this.#users > 0) again();
  }

  async #leave(): Promise<void> {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#stopTimer();
    // Whoever comes now opens them again, when they are closed.
    this.#opening = undefined;
    this.#closing = Promise.all([...this.#servers.values()].map((server) => server.close())).then(() => {
      process.off("exit", this.#kill);
    });
    await this.#closing;
  }

  #server(id: string): Server {
    const server = this.#servers.get(id);
    if (server !== undefined) return server;
    const ids = this.#setups.map(({ spec }) => spec.id);
    const why = ids.includes(id) ? "the runtime was not initialized" : `there is none of that id${didYouMean(id, ids)}`;
    throw new AwakenError("invalid_id", `MCP server '${id}': ${why}`, { details: { server: id } });
  }

  status(): readonly McpStatus[] {
    return this.#setups.map((setup) => this.#servers.get(setup.spec.id)?.status() ?? notYet(setup));
  }

  async restart(id: string): Promise<void> {
    await this.#server(id).restart();
  }

  async disable(id: string): Promise<void> {
    await this.#server(id).disable();
  }

  async enable(id: string): Promise<void> {
    await this.#server(id).enable();
  }

  async refresh(id: string): Promise<void> {
    await this.#server(id).refresh();
  }

  async listPrompts(id: string): ReturnType<McpServers["listPrompts"]> {
    return listPrompts(this.#server(id).connection);
  }

  async getPrompt(id: string, name: string, args: { readonly [name: string]: string } = {}): Promise<string> {
    return getPrompt(this.#server(id).connection, name, args);
  }

  async listResources(id: string): ReturnType<McpServers["listResources"]> {
    return listResources(this.#server(id).connection);
  }

  async readResource(id: string, uri: string): ReturnType<McpServers["readResource"]> {
    return readResource(this.#server(id).connection, uri);
  }

  async subscribe(id: string, uri: string, onUpdate: (uri: string) => void): Promise<() => Promise<void>> {
    const server = this.#server(id);
    const end = await subscribe(server.connection, uri);
    const off = server.onResourceUpdated((updated) => {
      if (updated === uri) onUpdate(updated);
    });
    return async () => {
      off();
      await end();
    };
  }

  async complete(id: string, prompt: string, argument: string, value: string): Promise<readonly string[]> {
    return complete(this.#server(id).connection, prompt, argument, value);
  }
}

/**
 * Tools of MCP servers for the agents that list the plugin, as `mcp__<server>__<tool>`. Servers are connected by `runtime.initialize()`, or
 * before the first run that needs them; one that is not there is tried again and costs nobody else anything.
 */
export function mcp(options: McpOptions): McpPlugin {
  const servers = new Servers(options);
  const source = { prefix: MCP_PREFIX, snapshot: () => servers.snapshot() };
  const plugin = definePlugin({
    id: options.id ?? "mcp",
    register: (r) => r.tools(source),
    onInitialize: (host) => servers.open(host),
  });
  return Object.freeze({ ...plugin, servers });
}
