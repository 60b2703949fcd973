import { AwakenError, type ErrorCode, errorMessage, type HookPhase, type JsonValue, type Schema, validate } from "@awaken/contract";
import type { ActionEntry, EffectEntry, HookEntry } from "../phase/hook.ts";
import type { AnyStateKey } from "../state/key.ts";
import type { AnyProfileKey } from "../state/profile.ts";
import { isPromise } from "../stream/bounds.ts";
import { whenThere } from "../stream/door.ts";
import type { GateEntry } from "../tool/gate.ts";
import type { Tool } from "../tool/tool.ts";
import type { AroundEntry, AroundWork } from "./around.ts";
import type { Registrar, Transform } from "./registrar.ts";
import { type ReadSource, type ReadTools, readNow, type ToolSource } from "./tool-source.ts";

/** Calls the handler with the checked payload. A promise only if the schema or the handler has one. */
const handling =
  <P, Scene, R>(schema: Schema<P>, handle: (payload: P, scene: Scene) => R | Promise<R>) =>
  (payload: JsonValue, scene: Scene): R | Promise<R> =>
    whenThere(validate(schema, payload), (checked) => {
      if (checked.type === "valid") return handle(checked.value, scene);
      throw new Error(`payload does not fit: ${checked.message}`);
    });

/** From untyped code: a promise of messages would be waited for by nobody. */
function checkedTransform(plugin: string, transform: Transform): Transform {
  return (messages, tools) => {
    const made = transform(messages, tools);
    if (Array.isArray(made)) return made;
    if (isPromise(made)) Promise.resolve(made).catch(() => {});
    throw new AwakenError("invalid_plugin", `a transform of plugin '${plugin}' must return the list of messages, and at once`, {
      details: { plugin },
    });
  };
}

/** From untyped code there may be nothing of that name. */
function listIn<T extends object, K extends keyof T & string>(table: T, name: K, plugin: string, field: string, what: string): T[K] {
  if (Object.hasOwn(table, name)) return table[name];
  throw new AwakenError("invalid_plugin", `plugin '${plugin}': there is ${what} '${name}'`, { details: { plugin, [field]: name } });
}

const STATE_KEY = "state key";
const LATE_TOOL = "late tool";

/** Where the registrations of all plugins meet, and where duplicates are refused. */
export class EnvTables {
  readonly hooks: { [P in HookPhase]: HookEntry<P>[] } = {
    runStart: [],
    stepStart: [],
    beforeInference: [],
    afterInference: [],
    beforeToolExecute: [],
    afterToolExecute: [],
    stepEnd: [],
    runEnd: [],
  };
  readonly actions = new Map<string, ActionEntry>();
  readonly effects = new Map<string, EffectEntry>();
  readonly stateKeys = new Map<string, AnyStateKey>();
  readonly profileKeys = new Map<string, AnyProfileKey>();
  readonly gates: GateEntry[] = [];
  readonly tools = new Map<string, Tool>();
  readonly lateTools = new Map<string, Tool>();
  readonly sources: ReadSource[] = [];
  readonly arounds: { [W in AroundWork]: AroundEntry<W>[] } = { inference: [], tool: [] };
  readonly transforms: Transform[] = [];
  readonly warnings: string[] = [];
  /** The plugin that registered it, by what messages call it. */
  readonly #owners = new Map<string, string>();
  readonly #readTools: ReadTools;

  constructor(readTools: ReadTools = readNow) {
    this.#readTools = readTools;
  }

  /** The door for one plugin. A plugin that is not active only leaves its keys and handlers here. */
  registrar(plugin: string, isActive: boolean): Registrar {
    const put = <T>(table: Map<string, T>, name: string, entry: T, code: ErrorCode, what: string) => {
      const owner = this.#owners.get(`${what} '${name}'`);
      if (owner !== undefined) {
        throw new AwakenError(code, `${what} '${name}' is registered by plugin '${owner}' and again by '${plugin}'`, {
          details: { name, plugins: [owner, plugin] },
        });
      }
      this.#own(plugin, table, name, entry, what);
    };
    /** Two plugins may share one key; two definitions of one name are a mistake. */
    const share = (key: AnyStateKey, isAgain = false) => {
      if (isAgain || this.stateKeys.get(key.name) !== key) put(this.stateKeys, key.name, key, "key_already_registered", STATE_KEY);
    };
    const own = new Set<string>();
    return {
      state: (key) => {
        // So is one plugin twice.
        share(key, own.has(key.name));
        own.add(key.name);
      },
      profile: (key) => put(this.profileKeys, key.name, key, "profile_key_already_registered", "profile key"),
      action: ({ key, payload }, handler) =>
        put(this.actions, key, { plugin, run: handling(payload, handler) }, "handler_already_registered", "a handler of action"),
      effect: ({ key, payload }, handler) =>
        put(this.effects, key, { plugin, run: handling(payload, handler) }, "effect_handler_already_registered", "a handler of effect"),
      hook: (phase, hook) => {
        // From untyped code: gates have their own registration, a hook there never runs.
        if (String(phase) === "toolGate") return;
        const hooks = listIn(this.hooks, phase, plugin, "phase", "no phase");
        if (isActive) hooks.push({ plugin, hook });
      },
      gate: (gate) => {
        if (isActive) this.gates.push({ plugin, gate });
      },
      policy: (policy) => {
        if (isActive) this.gates.push({ plugin, policy });
      },
      tool: (tool) => {
        for (const key of tool.state ?? []) share(key);
        if (isActive) put(this.tools, tool.id, tool, "tool_already_registered", "tool");
      },
      tools: (source) => {
        if (isActive) this.#readSource(plugin, source);
      },
      around: (work, around) => {
        if (isActive) listIn(this.arounds, work, plugin, "work", "nothing to surround called").push({ plugin, around });
      },
      transform: (transform) => {
        if (isActive) this.transforms.push(checkedTransform(plugin, transform));
      },
    };
  }

  #own<T>(plugin: string, table: Map<string, T>, name: string, entry: T, what: string): void {
    this.#owners.set(`${what} '${name}'`, plugin);
    table.set(name, entry);
  }

  /** What a source brings is found while the program runs: what is wrong with one tool costs that tool, never the agent. */
  #readSource(plugin: string, source: ToolSource): void {
    const tools = this.#readTools(source);
    this.sources.push({ source, tools });
    for (const tool of tools) {
      const problem = this.#lateProblem(source, tool);
      if (problem !== undefined) {
        this.warnings.push(`tool '${tool.id}' of plugin '${plugin}' is left out: ${problem}`);
        continue;
      }
      for (const key of tool.state ?? []) this.#own(plugin, this.stateKeys, key.name, key, STATE_KEY);
      this.#own(plugin, this.lateTools, tool.id, tool, LATE_TOOL);
    }
  }

  #lateProblem({ prefix }: ToolSource, tool: Tool): string | undefined {
    if (!tool.id.startsWith(prefix)) return `its id does not begin with '${prefix}'`;
    const owner = this.#owners.get(`${LATE_TOOL} '${tool.id}'`);
    if (owner !== undefined) return `plugin '${owner}' has one of that id`;
    const taken = tool.state?.find((key) => (this.stateKeys.get(key.name) ?? key) !== key);
    if (taken !== undefined) return `its state key '${taken.name}' is another one's`;
    try {
      // Read for its failure alone: a model must be told what to give to it.
      void tool.descriptor;
      return undefined;
    } catch (thrown) {
      return `it has no JSON Schema: ${errorMessage(thrown)}`;
    }
  }
}
