import { AwakenError, errorMessage, type Log } from "@awaken/contract";
import { checkOpen } from "../stream/closed.ts";
import type { Plugin } from "./define-plugin.ts";
import type { ClosePlugin, PluginHost } from "./plugin-host.ts";

/** One plugin on its way, or open. */
interface Opening {
  isOpen: boolean;
  /** Rejects with an error that names the plugin. */
  readonly opened: Promise<void>;
  close: ClosePlugin | undefined;
}

const failure = ({ id }: Plugin, thrown: unknown): AwakenError => {
  const init = { cause: thrown, details: { plugin: id } };
  const message = `plugin '${id}' could not be initialized: ${errorMessage(thrown)}`;
  return new AwakenError(AwakenError.is(thrown) ? thrown.code : "resolve_failed", message, init);
};

/** The plugins of one runtime that have something to open: each is opened once, and closed with the runtime. */
export class OpenPlugins {
  readonly #host: PluginHost;
  readonly #log: Log;
  readonly #plugins = new Map<Plugin, Opening>();

  constructor(host: PluginHost) {
    this.#host = host;
    this.#log = host.log;
  }

  /** Undefined when all of them are open. One that failed before is tried again; all are waited for, and the first failure is thrown. */
  open(plugins: readonly Plugin[]): Promise<void> | undefined {
    // It may have been closed while this part was on its way.
    checkOpen(this.#host.signal);
    const opening = plugins.map((plugin) => this.#begin(plugin));
    const pending = opening.filter(({ isOpen }) => !isOpen);
    return pending.length === 0 ? undefined : allSettled(pending.map(({ opened }) => opened));
  }

  #begin(plugin: Plugin): Opening {
    const known = this.#plugins.get(plugin);
    if (known !== undefined) return known;
    const opening: Opening = { isOpen: false, close: undefined, opened: this.#initialize(plugin, () => opening) };
    // Whoever waits for it sees the failure.
    opening.opened.catch(() => {});
    this.#plugins.set(plugin, opening);
    return opening;
  }

  async #initialize(plugin: Plugin, opening: () => Opening): Promise<void> {
    try {
      // A plugin that throws at once must find itself on the list too.
      await Promise.resolve();
      const close = (await plugin.onInitialize?.(this.#host)) ?? undefined;
      opening().isOpen = true;
      opening().close = close;
    } catch (thrown) {
      this.#plugins.delete(plugin);
      throw failure(plugin, thrown);
    }
  }

  /** Also of those that are still on their way. Never rejects. */
  async close(): Promise<void> {
    await Promise.all([...this.#plugins].map(([plugin, opening]) => this.#end(plugin, opening)));
  }

  async #end(plugin: Plugin, opening: Opening): Promise<void> {
    try {
      await opening.opened.catch(() => {});
      await opening.close?.();
    } catch (thrown) {
      this.#log.error(`plugin '${plugin.id}' could not be closed: ${errorMessage(thrown)}`, { plugin: plugin.id });
    }
  }
}

async function allSettled(opening: readonly Promise<void>[]): Promise<void> {
  const ends = await Promise.allSettled(opening);
  const failed = ends.find((end) => end.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
