import { Door } from "../stream/door.ts";
import type { Plugin } from "./define-plugin.ts";
import type { OpenPlugins } from "./open-plugins.ts";
import type { PluginHost } from "./plugin-host.ts";

/** One for all runtimes of the process. */
export const opening = new Door(() => import("./open-plugins.ts"));

/** Those of one runtime: most have none. */
export class PluginsToOpen {
  readonly #host: PluginHost;
  #open: OpenPlugins | undefined;
  /** What was asked for last, while the part that opens them is on its way. */
  #asked: Promise<void> | undefined;

  constructor(host: PluginHost) {
    this.#host = host;
  }

  /** As `OpenPlugins.open`. */
  open(plugins: Iterable<Plugin>): Promise<void> | undefined {
    const wanted = [...plugins].filter(({ onInitialize }) => onInitialize !== undefined);
    if (wanted.length === 0) return undefined;
    if (this.#open !== undefined) return this.#open.open(wanted);
    this.#asked = this.#openLate(wanted);
    return this.#asked;
  }

  async #openLate(wanted: readonly Plugin[]): Promise<void> {
    const room = await opening.open();
    this.#open ??= new room.OpenPlugins(this.#host);
    await this.#open.open(wanted);
  }

  /** Never rejects. */
  async close(): Promise<void> {
    if (this.#open === undefined) await this.#asked?.catch(() => {});
    await this.#open?.close();
  }
}
