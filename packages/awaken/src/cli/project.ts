import type { Schema } from "@awaken/contract";
import type { ScopedStore } from "@awaken/contract/store";
import type { Runtime } from "../create-runtime.ts";

/** What `awaken.config.ts` describes, opened: the port between the commands and the code that loads and opens a project. */
export interface Project extends AsyncDisposable {
  /** The folder of the config file. Relative paths of the config start here. */
  readonly root: string;
  readonly configFile: string;
  readonly runtime: Runtime;
  readonly store: ScopedStore;
  /** Where the store keeps its data, in words without secrets: a file, a host with a database, or memory. */
  readonly storeLabel: string;
  /** Ids of the agents that can be run here, in the order of the config. */
  readonly agents: readonly string[];
  /** Agents whose answers have a shape: their runs get it as `output`. */
  readonly outputs: ReadonlyMap<string, Schema<unknown>>;
}
