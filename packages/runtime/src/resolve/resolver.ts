import { AwakenError, errorMessage, type Log } from "@awaken/contract";
import type { AgentSpec, LocalAgentSpec, RemoteAgentSpec } from "@awaken/contract/spec";
import { checkEndpoint } from "../backend/backend-factory.ts";
import { BoundedMap } from "../inference/pool/bounded-map.ts";
import type { RunPlan } from "../loop/run-plan.ts";
import type { Plugin } from "../plugin/define-plugin.ts";
import { type ReadTools, readNow, type ToolSource } from "../plugin/tool-source.ts";
import { findAgent, type RegistrySet } from "../registry/registry-set.ts";
import type { RegistrySnapshot } from "../registry/registry-snapshot.ts";
import { seldom } from "../registry/seldom-door.ts";
import { remotePlan } from "./remote-plan.ts";
import { type ResolveParts, resolveAgent } from "./resolve-agent.ts";

/** `pinned` runs resolve inside one stored graph and can be replayed; `live` ones take what this process has. */
export type ResolutionScope = { readonly type: "live" } | { readonly type: "pinned"; readonly resolutionId: string };

/** A plan weighs some kilobytes and is made again in microseconds: only those in use are kept. */
const MAX_PLANS = 512;

export const LIVE: ResolutionScope = Object.freeze({ type: "live" });

export interface ResolutionRequest {
  readonly scope?: ResolutionScope;
  /** Of the run that starts this one. */
  readonly parent?: ResolutionScope;
}

/** One run's view of the registries: whatever is published later, its handoffs and delegates come from the same snapshot. */
export interface Resolution {
  readonly scope: ResolutionScope;
  readonly snapshot: RegistrySnapshot;
  /** What the agent's plugins have to open before it can be resolved. Undefined when there is nothing to wait for, also for an agent that is not there. */
  ready(agentId: string): Promise<void> | undefined;
  /** All or nothing. A plan holds nothing of a run, so runs may share it. */
  resolve(agentId: string): RunPlan;
}

export interface Resolver {
  /** Binds a run to the registries of this moment. */
  open(request?: ResolutionRequest): Resolution;
  /** In the order of registration. */
  agentIds(): readonly string[];
}

type CheckLate = (set: RegistrySet, plan: RunPlan) => void;

/** Over the live registries of a runtime. */
export interface LiveResolver extends Resolver {
  /** Throws what is wrong with these agents of a set, published or not: all but what was told, each after the id of its agent. */
  check(set: RegistrySet, agents: Iterable<AgentSpec>, isTold?: (error: AwakenError) => boolean): void;
  /** From now on all sources are read: `check` throws when an agent names what none of them has, and it fails, alone. */
  readAll(check: CheckLate): void;
}

export interface ResolverInit extends ResolveParts {
  readonly snapshot: () => RegistrySnapshot;
  readonly log: Log;
  /** Opens plugins; undefined when all of them are open. Default: there is nothing to open. */
  readonly openPlugins?: (plugins: Iterable<Plugin>) => Promise<void> | undefined;
}

function checkScope({ scope = LIVE, parent = LIVE }: ResolutionRequest): void {
  if (scope.type === "pinned") {
    const message = "unsupported persistence: pinned registry resolution requires a materialized replayable snapshot";
    throw new AwakenError("unsupported_persistence", message, { details: { resolutionId: scope.resolutionId } });
  }
  if (parent.type === "pinned") {
    const message = "nested resolution scope mismatch: replayable parent run cannot spawn a live-only sub-run";
    throw new AwakenError("unsupported_persistence", message, { details: { resolutionId: parent.resolutionId } });
  }
}

/** All of them share the code, which closures for each would be 0.2 KiB of. A plain object: whoever wraps one may spread it. */
interface LiveResolution extends Resolution {
  /** What its sources gave. Undefined as long as it has read none. */
  read: Map<ToolSource, ReturnType<ReadTools>> | undefined;
}

/** Every source once: whoever resolves several agents, or one again, finds the same tools. */
function readOnce(resolution: LiveResolution, source: ToolSource): ReturnType<ReadTools> {
  const known = resolution.read?.get(source);
  if (known !== undefined) return known;
  const tools = readNow(source);
  resolution.read ??= new Map();
  resolution.read.set(source, tools);
  return tools;
}

/** Who talks to it may be registered later. */
function checkRemote({ backends }: RegistrySet, { id, remote }: RemoteAgentSpec): void {
  if (backends.has(remote.type)) checkEndpoint(backends.get(remote.type), remote, id);
}

/** Undefined as well when the agent or a plugin is missing: resolving it says so. */
function openPlugins(open: ResolverInit["openPlugins"], { agents, plugins }: RegistrySet, agentId: string): Promise<void> | undefined {
  const agent = agents.get(agentId);
  if (agent?.type !== "local" || agent.plugins.length === 0) return undefined;
  return open?.(agent.plugins.map((id) => plugins.get(id)).filter((plugin) => plugin !== undefined));
}

/** It may name what there is not. */
const namesTools = ({ tools, toolPatterns, excludedTools, excludedToolPatterns, sections }: LocalAgentSpec): boolean =>
  (tools ?? excludedTools ?? excludedToolPatterns ?? sections["permission"]) !== undefined ||
  toolPatterns?.some((pattern) => pattern !== "*") === true;

/** Said when what finds it is there: an agent is none the worse for it. Never rejects. */
async function warnOfTools(log: Log, plan: RunPlan, registered: ReadonlyMap<string, unknown>): Promise<void> {
  try {
    (await seldom.open()).warnOfTools(log, plan, registered);
  } catch {
    // Nobody waits for it.
  }
}

/** A resolver over the live registries. It gives live plans only. */
export function createResolver(init: ResolverInit): LiveResolver {
  /** Plans by set: what was compiled is gone with the set that it was compiled from. */
  const compiled = new WeakMap<RegistrySet, BoundedMap<RunPlan>>();
  let checkLate: CheckLate | undefined;

  const compile = (set: RegistrySet, agentId: string, readTools: ReadTools): RunPlan => {
    const spec = findAgent(set, agentId);
    if (spec?.type === "remote") return remotePlan(set, spec);
    const { plan, registered, warnings } = resolveAgent(set, agentId, init, readTools);
    for (const warning of warnings) init.log.warn(warning, { agentId });
    if (namesTools(plan.agent)) void warnOfTools(init.log, plan, registered);
    return plan;
  };

  const resolve = (set: RegistrySet, agentId: string, readTools = readNow): RunPlan => {
    const plans = compiled.get(set) ?? new BoundedMap<RunPlan>(MAX_PLANS);
    if (plans.size === 0) compiled.set(set, plans);
    const plan = plans.getOrCreate(agentId, () => compile(set, agentId, readTools));
    if (plan.env.sources.every(({ source, tools }) => readTools(source) === tools)) return plan;
    return plans.replace(agentId, compile(set, agentId, readTools));
  };

  function readyOf(this: LiveResolution, agentId: string): Promise<void> | undefined {
    return openPlugins(init.openPlugins, this.snapshot.registries, agentId);
  }

  function resolveWhole(this: LiveResolution, agentId: string): RunPlan {
    const { registries } = this.snapshot;
    const plan = resolve(registries, agentId, (source) => readOnce(this, source));
    checkLate?.(registries, plan);
    return plan;
  }

  return {
    open(request = {}): LiveResolution {
      checkScope(request);
      return { scope: LIVE, snapshot: init.snapshot(), read: undefined, ready: readyOf, resolve: resolveWhole };
    },
    check(set, agents, isTold = () => false) {
      const problems = [...agents].flatMap((agent) => {
        try {
          if (agent.type === "remote") checkRemote(set, agent);
          else resolve(set, agent.id);
          return [];
        } catch (thrown) {
          return AwakenError.is(thrown) && isTold(thrown) ? [] : [`${agent.id}: ${errorMessage(thrown)}`];
        }
      });
      if (problems.length > 0) throw new AwakenError("resolve_failed", `agent validation failed: ${problems.join("; ")}`);
    },
    readAll(check) {
      checkLate = check;
    },
    agentIds: () => [...init.snapshot().registries.agents.keys()],
  };
}
