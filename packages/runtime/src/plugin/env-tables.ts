import {
  AwakenError,
  type ErrorCode,
  errorMessage,
  type HookPhase,
  type JsonValue,
  type Schema,
  type Validated,
  validate,
} from "@awaken/contract";
import type { ActionEntry, EffectEntry, HookEntry } from "../phase/hook.ts";
import type { AnyStateKey } from "../state/key.ts";
import type { AnyProfileKey } from "../state/profile.ts";
import { isPromise } from "../stream/bounds.ts";
import type { GateEntry } from "../tool/gate.ts";
import type { Tool } from "../tool/tool.ts";
import type { AroundEntry, AroundWork } from "./around.ts";
import type { Registrar, Transform } from "./registrar.ts";
import { type ReadSource, type ReadTools, readNow, type ToolSource } from "./tool-source.ts";

interface Owned<T> {
  readonly plugin: string;
  readonly value: T;
}

/** Calls the handler with the checked payload. A promise only if the schema or the handler has one. */
function handled<P, R>(schema: Schema<P>, payload: JsonValue, handle: (payload: P) => R | Promise<R>): R | Promise<R> {
  const take = (result: Validated<P>): R | Promise<R> => {
    if (result.type === "valid") return handle(result.value);
    throw new Error(`payload does not fit: ${result.message}`);
  };
  const checked = validate(schema, payload);
  return checked instanceof Promise ? checked.then(take) : take(checked);
}

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
  readonly stateKeys = new Map<string, Owned<AnyStateKey>>();
  readonly profileKeys = new Map<string, Owned<AnyProfileKey>>();
  readonly gates: GateEntry[] = [];
  readonly tools = new Map<string, Owned<Tool>>();
  readonly lateTools = new Map<string, Owned<Tool>>();
  readonly sources: ReadSource[] = [];
  readonly arounds: { [W in AroundWork]: AroundEntry<W>[] } = { inference: [], tool: [] };
  readonly transforms: Transform[] = [];
  readonly warnings: string[] = [];
  readonly #readTools: ReadTools;

  constructor(readTools: ReadTools = readNow) {
    this.#readTools = readTools;
  }

  /** The door for one plugin. A plugin that is not active only leaves its keys and handlers here. */
  registrar(plugin: string, isActive: boolean): Registrar {
    const put = <T extends { readonly plugin: string }>(table: Map<string, T>, name: string, entry: T, code: ErrorCode, what: string) => {
      const owner = table.get(name)?.plugin;
      if (owner !== undefined) {
        throw new AwakenError(code, `${what} '${name}' is registered by plugin '${owner}' and again by '${plugin}'`, {
          details: { name, plugins: [owner, plugin] },
        });
      }
      table.set(name, entry);
    };
    const own = new Set<string>();
    return {
      state: (key) => {
        // Two plugins may share one key; two definitions of one name, or one plugin twice, are a mistake.
        const isShared = !own.has(key.name) && this.stateKeys.get(key.name)?.value === key;
        if (!isShared) put(this.stateKeys, key.name, { plugin, value: key }, "key_already_registered", "state key");
        own.add(key.name);
      },
      profile: (key) => put(this.profileKeys, key.name, { plugin, value: key }, "profile_key_already_registered", "profile key"),
      action: (action, handler) => {
        const run: ActionEntry["run"] = (payload, scene) => handled(action.payload, payload, (checked) => handler(checked, scene));
        put(this.actions, action.key, { plugin, run }, "handler_already_registered", "a handler of action");
      },
      effect: (effect, handler) => {
        const run: EffectEntry["run"] = (payload, scene) => handled(effect.payload, payload, (checked) => handler(checked, scene));
        put(this.effects, effect.key, { plugin, run }, "effect_handler_already_registered", "a handler of effect");
      },
      hook: (phase, hook) => {
        // From untyped code: gates have their own registration, a hook there never runs.
        if (String(phase) === "toolGate") return;
        if (!Object.hasOwn(this.hooks, phase)) {
          throw new AwakenError("invalid_plugin", `plugin '${plugin}': there is no phase '${phase}'`, { details: { plugin, phase } });
        }
        if (isActive) this.hooks[phase].push({ plugin, hook });
      },
      gate: (gate) => {
        if (isActive) this.gates.push({ plugin, gate });
      },
      policy: (policy) => {
        if (isActive) this.gates.push({ plugin, policy });
      },
      tool: (tool) => {
        for (const key of tool.state ?? []) {
          if (this.stateKeys.get(key.name)?.value !== key)
            put(this.stateKeys, key.name, { plugin, value: key }, "key_already_registered", "state key");
        }
        if (isActive) put(this.tools, tool.id, { plugin, value: tool }, "tool_already_registered", "tool");
      },
      tools: (source) => {
        if (isActive) this.#readSource(plugin, source);
      },
      around: (work, around) => {
        if (isActive) this.#aroundsOf(plugin, work).push({ plugin, around });
      },
      transform: (transform) => {
        if (isActive) this.transforms.push(checkedTransform(plugin, transform));
      },
    };
  }

  /** From untyped code there may be nothing of that name. */
  #aroundsOf<W extends AroundWork>(plugin: string, work: W): AroundEntry<W>[] {
    if (Object.hasOwn(this.arounds, work)) return this.arounds[work];
    throw new AwakenError("invalid_plugin", `plugin '${plugin}': there is nothing to surround called '${work}'`, {
      details: { plugin, work },
    });
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
      for (const key of tool.state ?? []) this.stateKeys.set(key.name, { plugin, value: key });
      this.lateTools.set(tool.id, { plugin, value: tool });
    }
  }

  #lateProblem({ prefix }: ToolSource, tool: Tool): string | undefined {
    if (!tool.id.startsWith(prefix)) return `its id does not begin with '${prefix}'`;
    const owner = this.lateTools.get(tool.id)?.plugin;
    if (owner !== undefined) return `plugin '${owner}' has one of that id`;
    const taken = tool.state?.find((key) => (this.stateKeys.get(key.name)?.value ?? key) !== key);
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
