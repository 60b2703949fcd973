import type { Log, Provider } from "@awaken/contract";
import type { Clock } from "../stream/clock.ts";

/** What a plugin gets of the runtime that initializes it. */
export interface PluginHost {
  /** Time as the runtime knows it. */
  readonly clock: Clock;
  /** Where warnings go. */
  readonly log: Log;
  /** Aborted when the runtime is closed. */
  readonly signal: AbortSignal;
  /** A model or pool of the registry as it is now, by its id; throws when there is none. */
  model(id: string): HostModel;
}

/** Who is asked for a model, and by which name. */
export interface HostModel {
  /** The model API. */
  readonly provider: Provider;
  /** The name that the provider knows the model by. */
  readonly model: string;
}

/** Lets go of what a plugin opened. */
export type ClosePlugin = () => void | Promise<void>;
