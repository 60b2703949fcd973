import {
  type AgentEvent,
  AwakenError,
  checkOptions,
  didYouMean,
  isJsonObject,
  knownFields,
  needed,
  type PartRules,
  RULES,
  type Schema,
  validateSync,
} from "@awaken/contract";
import type { LocalAgentSpec } from "@awaken/contract/spec";
import type { Command } from "../phase/command.ts";
import type { RunScene } from "../phase/hook.ts";
import type { StateReader } from "../state/snapshot.ts";
import type { InboxItem } from "./inbox.ts";
import type { ClosePlugin, PluginHost } from "./plugin-host.ts";
import type { Registrar } from "./registrar.ts";

/** What a plugin may do to a run from outside its phases. */
export interface LiveRun extends RunScene {
  /** Whether the run was suspended or cut off before, and goes on. */
  readonly isContinuation: boolean;
  /** The state as it is now. */
  snapshot(): StateReader;
  /** Commits between phases; never makes one fail. */
  submit(command: Command): Promise<void>;
  /** Puts an item into the run's inbox. False when the run is over. */
  send(item: InboxItem): boolean;
  /**
   * Hears the events of the run from here on, until the plugin is unbound: `run-end` too, `run-start` not. No snapshot of the state is made
   * for it. It must be quick; what it throws is logged.
   */
  listen(listen: (event: AgentEvent) => void): void;
}

export interface PluginInit<C> {
  /** The name that agents list in `plugins`. */
  readonly id: string;
  /** The key of its part in an agent's `sections`; default the id. */
  readonly section?: string;
  /** Checks the section. An absent section is checked as `{}`, so that defaults apply. */
  readonly config?: Schema<C>;
  /** Called once per resolution of an agent. Must register everything and do nothing else. */
  register(registrar: Registrar, config: NoInfer<C>): void;
  /**
   * The place to connect. Called once by a runtime: by `initialize()`, or else before the first run of an agent that has the plugin,
   * and waited for. What it gives is called when the runtime is closed. When it throws, it is called again the next time.
   */
  onInitialize?(host: PluginHost): ClosePlugin | undefined | void | Promise<ClosePlugin | undefined | void>;
  /** Its agent starts, or takes over at a handoff. */
  onActivate?(agent: LocalAgentSpec, state: StateReader): Command | undefined;
  /** Its agent hands over to another one. */
  onDeactivate?(state: StateReader): Command | undefined;
  /** Given to each run for as long as it is active; what it returns is called at the end. */
  onBind?(run: LiveRun): (() => void) | undefined;
}

const INIT: PartRules<PluginInit<unknown>> = {
  id: needed(RULES.name),
  section: RULES.name,
  config: RULES.schema,
  register: needed(RULES.code),
  onInitialize: RULES.code,
  onActivate: RULES.code,
  onDeactivate: RULES.code,
  onBind: RULES.code,
};

/** A plugin with its config type closed over. */
export interface Plugin {
  /** The name that agents list in `plugins`. */
  readonly id: string;
  /** Where its settings stand in an agent's `sections`. */
  readonly section: string;
  /** Whether it checks its section. */
  readonly hasConfig: boolean;
  /** What checks its section. */
  readonly config: Schema | undefined;
  /** Connects, once per runtime; what it gives closes. */
  readonly onInitialize: PluginInit<never>["onInitialize"];
  /** Its agent starts, or takes over at a handoff. */
  readonly onActivate: PluginInit<never>["onActivate"];
  /** Its agent hands over to another one. */
  readonly onDeactivate: PluginInit<never>["onDeactivate"];
  /** Given to each run for as long as it is active. */
  readonly onBind: PluginInit<never>["onBind"];
  /** Checks the section and registers; throws `invalid_plugin_config`. */
  load(section: unknown, registrar: Registrar): void;
}

function parseConfig<C>(init: PluginInit<C>, schema: Schema<C>, section: unknown): C {
  const key = init.section ?? init.id;
  const refuse = (message: string): never => {
    throw new AwakenError("invalid_plugin_config", `invalid config for plugin ${init.id}: section "${key}" — ${message}`, {
      details: { plugin: init.id, key, message },
    });
  };
  const result = validateSync(schema, section === undefined ? {} : section);
  if (result.type === "invalid") return refuse(result.message);
  const known = isJsonObject(section) ? knownFields(schema) : undefined;
  const unknown = known && Object.keys(section ?? {}).find((name) => !known.includes(name));
  return unknown === undefined ? result.value : refuse(`unknown field '${unknown}'${didYouMean(unknown, known ?? [])}`);
}

/** Declares a plugin. Without a `config` schema, `config` is undefined. */
/* @__NO_SIDE_EFFECTS__ */
export function definePlugin<C = undefined>(init: PluginInit<C>): Plugin {
  checkOptions("invalid_plugin", "definePlugin", init, INIT);
  const { config } = init;
  return Object.freeze({
    id: init.id,
    section: init.section ?? init.id,
    hasConfig: config !== undefined,
    config,
    onInitialize: init.onInitialize,
    onActivate: init.onActivate,
    onDeactivate: init.onDeactivate,
    onBind: init.onBind,
    load(section: unknown, registrar: Registrar) {
      // Without a schema C is `undefined`: nothing else could have been inferred for it.
      const returned: unknown = init.register(registrar, config === undefined ? (undefined as C) : parseConfig(init, config, section));
      if (!(returned instanceof Promise)) return;
      returned.catch(() => {});
      throw new AwakenError("invalid_plugin", `plugin '${init.id}': register must not be async`, { details: { plugin: init.id } });
    },
  });
}
