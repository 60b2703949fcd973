import { AwakenError, consoleLog, DEFAULT_SCOPE, type ScopeId, scopeId } from "@awaken/contract";
import { PoolCache } from "./inference/pool/pool-cache.ts";
import { plainNode } from "./mailbox/node.ts";
import type { QueueWatcher } from "./mailbox/watchers.ts";
import { PluginsToOpen } from "./plugin/plugins-to-open.ts";
import { readRegistry } from "./registry/create-registry-set.ts";
import { diagnoseRegistry, validationError } from "./registry/diagnostics.ts";
import { Problems } from "./registry/problems.ts";
import { RegistryHandle } from "./registry/registry-handle.ts";
import { type LateReaders, NO_READERS } from "./relay/readers.ts";
import { createResolver, type Resolver } from "./resolve/resolver.ts";
import { resolveModel } from "./resolve/serve-model.ts";
import type { OpenRegistry } from "./run/initialize.ts";
import { moreRoom } from "./run/more-door.ts";
import type { RuntimeStore } from "./run/runtime-store.ts";
import { type RuntimeInit, readInit } from "./runtime-init.ts";
import { LateStore } from "./runtime-late-store.ts";
import type { FindPlace } from "./runtime-memory.ts";
import { closeParts, openBase, partsIn } from "./runtime-parts.ts";
import { agentTools, namedTools, runtimePlugins } from "./runtime-plugins.ts";
import { type ScopedRuntime, verbsOf } from "./runtime-verbs.ts";
import { type Clock, systemClock } from "./stream/clock.ts";
import { checkOpen } from "./stream/closed.ts";
import { whenThere } from "./stream/door.ts";
import { uuidIds } from "./stream/ids.ts";

/** The verbs, on the default tenant. Everything that is asked of runs goes through here. */
export interface Runtime extends ScopedRuntime, AsyncDisposable {
  /** Agents, models, providers and tools, to be changed while it runs. */
  readonly registry: RegistryHandle;
  /** Reads the registry as it is at each call. */
  readonly resolver: Resolver;
  /** As it was given. */
  readonly store: RuntimeStore | undefined;
  /**
   * Opens what plugins have to open, such as connections to MCP servers, and waits for it; throws when one of them cannot. From then on an
   * agent that names a tool or agent that no source has fails, alone. Call it again for plugins that came later. Without it a run opens
   * the plugins of its agent.
   */
  initialize(): Promise<void>;
  /** The same verbs for another tenant, over the same registry. Refuses what is no scope id: blank, over 512 bytes, with control characters. */
  scoped(scopeId: string): ScopedRuntime;
  /** Takes back at once what processes that are gone have left, of all tenants. Workers do so by themselves, when they start and every 30 s. */
  recover(): Promise<void>;
  /** Tells what the queue of this process does, of all tenants, until what it gives is called: for metrics. Without a queue there is nothing to tell. */
  watch(watcher: QueueWatcher): () => void;
  /** Cancels the runs of all tenants and waits until they ended; runs from the queue have 30 s to come to their next step, and are left to other processes. Every verb is refused from then on. The store stays open. */
  close(options?: CloseOptions): Promise<void>;
}

export interface CloseOptions {
  /** Also runs that were started here with `run` and `stream` are left to other processes, as they are on record, instead of being cancelled. Whoever waits for one here is told `fence_lost`. Default false. */
  readonly handOver?: boolean;
  /** With `handOver`: how long such a run may take to come to its next step first, so that no tool is left in the middle. Default 0. */
  readonly graceMs?: number;
}

/** A pool has somewhere else to go: it leaves a member before the retries of one inference are spent. */
const POOL_FAILURES = 2;

const isNotFound = ({ code }: AwakenError): boolean => code.endsWith("_not_found");

/** The registries, and who reads them. All mistakes are told at once: those of options, entries, references and agents. */
function openRegistry(init: RuntimeInit, problems: Problems, closing: AbortSignal): OpenRegistry {
  const { set, unread } = readRegistry(init, problems);
  const error = validationError(diagnoseRegistry(set, unread));
  if (error !== undefined) problems.add(error);
  const { ids = uuidIds, clock = systemClock, log = consoleLog, state = [], checked = true } = init;
  const pools = new PoolCache({ clock, log, breakerPolicy: { failureThreshold: POOL_FAILURES } });
  const model = (id: string) => {
    const { provider, upstream } = resolveModel(registry.snapshot().registries, id, pools);
    return { provider, model: upstream };
  };
  const plugins = new PluginsToOpen({ clock, log, signal: closing, model });
  const resolver = createResolver({
    snapshot: () => registry.snapshot(),
    log,
    pools,
    openPlugins: (needed) => plugins.open(needed),
    runtimePlugins: runtimePlugins({ ids, log }),
    agentTools,
    namedTools,
    knownSections: ["compaction", "context_transform", "knowledge_cutoff_context"],
    state,
  });
  const registry: RegistryHandle = new RegistryHandle(set, checked ? resolver.check : undefined);
  // What is not found was told already.
  const isTold = problems.size === 0 ? undefined : isNotFound;
  if (checked) problems.attempt(() => resolver.check(set, set.agents.values(), isTold));
  problems.throwAll();
  return { registry, resolver, plugins };
}

/** For those who always give a store: without the places in memory. They are in files of their own, which a bundler leaves out of a program with this one. */
export const createRuntimeOnStore = (given: RuntimeInit): Runtime => openRuntime(given, undefined);

type InMemory = (clock: Clock) => FindPlace;

function withoutStore(inMemory: InMemory | undefined): InMemory {
  if (inMemory === undefined) throw new AwakenError("internal", "this runtime is made for a store");
  return inMemory;
}

/** Without `inMemory` a store has to be given. */
export function openRuntime(given: RuntimeInit, inMemory: InMemory | undefined): Runtime {
  const problems = new Problems();
  const init = readInit(given, problems);
  const closing = new AbortController();
  const opened = openRegistry(init, problems, closing.signal);
  const { registry } = opened;
  const { resolver = opened.resolver, remoteAgents = [] } = init;
  const { node = plainNode(uuidIds()) } = init;
  const base = openBase(init, resolver, node, closing.signal);
  const store = init.store && new LateStore(base, init.store);
  const tenantOf = store === undefined ? partsIn(base, withoutStore(inMemory)(base.clock)) : store.tenantOf;
  const readers: LateReaders = {
    now: () => (store === undefined ? NO_READERS : store.opened?.relays),
    open: () => (store === undefined ? NO_READERS : whenThere(store.open(), ({ relays }) => relays)),
  };
  const verbsIn = (id: ScopeId) => verbsOf(tenantOf(id), readers, store);
  store?.start();
  let closed: Promise<void> | undefined;
  const close = ({ handOver = false, graceMs = 0 }: CloseOptions = {}) => {
    closing.abort();
    closed ??= (store?.close(handOver, graceMs) ?? Promise.resolve()).then(() => closeParts(base, opened.plugins));
    return closed;
  };
  return {
    ...verbsIn(DEFAULT_SCOPE),
    recover: async () => {
      checkOpen(closing.signal);
      await (await store?.open())?.mailbox?.recover();
    },
    watch: (watcher) => store?.watch(watcher) ?? (() => {}),
    registry,
    resolver,
    store: init.store,
    initialize: async () => (await moreRoom.open()).initialize(base, opened, remoteAgents),
    scoped: (id) => verbsIn(scopeId(id)),
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
