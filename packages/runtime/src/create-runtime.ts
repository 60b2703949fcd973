import { AwakenError, consoleLog, type Log } from "@awaken/contract";
import type { ScopedStore } from "@awaken/contract/store";
import { MemoryThreads } from "./commit/memory-threads.ts";
import { PoolCache } from "./inference/pool/pool-cache.ts";
import { OpenPlugins } from "./plugin/open-plugins.ts";
import { readRegistry } from "./registry/create-registry-set.ts";
import { diagnoseRegistry, validationError } from "./registry/diagnostics.ts";
import { Problems } from "./registry/problems.ts";
import { RegistryHandle } from "./registry/registry-handle.ts";
import { createResolver, type LiveResolver, type Resolver } from "./resolve/resolver.ts";
import { resolveModel } from "./resolve/serve-model.ts";
import { ActiveRuns } from "./run/active-runs.ts";
import { boundRecords, boundStreams } from "./run/bound-records.ts";
import { cancel, cancelAndWait, resume, send, type WaitOptions, wait } from "./run/control.ts";
import { decide } from "./run/decide.ts";
import type { DecisionInput, TicketDecision } from "./run/decision-input.ts";
import { LiveOutputs } from "./run/live-outputs.ts";
import { MemoryProfiles } from "./run/memory-profiles.ts";
import { type Finding, reconcile } from "./run/reconcile.ts";
import type { RunParts } from "./run/run-parts.ts";
import type { RunRequest } from "./run/run-request.ts";
import type { RunResult } from "./run/run-result.ts";
import { openStream, type RunStream } from "./run/run-stream.ts";
import { startRequest } from "./run/stream-run.ts";
import { type RuntimeInit, readInit } from "./runtime-init.ts";
import { runtimePlugins } from "./runtime-plugins.ts";
import { Bounds, toLimits, type Work } from "./stream/bounds.ts";
import { type Clock, systemClock } from "./stream/clock.ts";
import { uuidIds } from "./stream/ids.ts";

export type { RuntimeInit } from "./runtime-init.ts";

/** The verbs. Everything that is asked of runs goes through here. */
export interface Runtime extends AsyncDisposable {
  readonly registry: RegistryHandle;
  /** Reads the registry as it is at each call. */
  readonly resolver: Resolver;
  /** As it was given. */
  readonly store: ScopedStore | undefined;
  /**
   * Opens what plugins have to open, such as connections to MCP servers, and waits for it; throws when one of them cannot. From then on an
   * agent that names a tool or agent that no source has fails, alone. Call it again for plugins that came later. Without it a run opens
   * the plugins of its agent.
   */
  initialize(): Promise<void>;
  /** Runs to the end, or to the next decision. */
  run<O>(request: RunRequest<O>): Promise<RunResult<O>>;
  /** The same, with its events. Leaving the iteration detaches; the run goes on. */
  stream<O>(request: RunRequest<O>): RunStream<O>;
  /**
   * Decides a ticket; the run goes on in this process. The decision is on record when this resolves, with the run from there on: its
   * events and its result. The same decision id twice decides once.
   */
  decide(ticket: string, decision: DecisionInput): Promise<RunStream>;
  /** Several tickets of one run, all or none. */
  decideAll(decisions: readonly TicketDecision[]): Promise<RunStream>;
  /**
   * Puts on record what became of a call whose outcome was lost, by its ticket or its idempotency key, when a later message has closed it
   * or its run is over. Nothing runs: it is the call's result from then on.
   */
  reconcile(target: string, finding: Finding): Promise<void>;
  /** The result of a run, when it is over or waits; of one that another process executes it is asked for again and again. */
  wait(runId: string, options?: WaitOptions): Promise<RunResult>;
  /** Goes on with a run that was cut off: its record says running, and nobody executes it. */
  resume(runId: string): Promise<RunResult>;
  /** By run id or thread id. True when a run was told to stop: an active one is told at once; one that waits is ended. */
  cancel(id: string): Promise<boolean>;
  /** The same, and waits up to 5 s, or as told, until the thread is free. */
  cancelAndWait(
    id: string,
    options?: {
      /** How long to wait. Default 5 s. */
      readonly timeoutMs?: number;
    },
  ): Promise<boolean>;
  /** Messages for a run that is active, read after its current step at the earliest. False when there is none. */
  send(id: string, input: RunRequest["input"]): boolean;
}

/** A pool has somewhere else to go: it leaves a member before the retries of one inference are spent. */
const POOL_FAILURES = 2;
const CANCEL_GRACE_MS = 30_000;
/** After the grace: for the store to take the ends of the runs. */
const CLOSE_MS = 30_000;

interface OpenRegistry {
  readonly registry: RegistryHandle;
  readonly resolver: LiveResolver;
  readonly plugins: OpenPlugins;
}

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
  const plugins = new OpenPlugins({ clock, log, signal: closing, model });
  const resolver = createResolver({
    snapshot: () => registry.snapshot(),
    log,
    pools,
    openPlugins: (needed) => plugins.open(needed),
    runtimePlugins: runtimePlugins({ ids, log }),
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

function openParts(init: RuntimeInit, resolver: Resolver, closing: AbortSignal): RunParts {
  const { ids = uuidIds, clock = systemClock, log = consoleLog, store, cancelGraceMs = CANCEL_GRACE_MS } = init;
  const now = () => clock.now();
  const limits = toLimits(init.limits);
  const streams = init.streamCheckpoints === true ? store?.streamCheckpoints : undefined;
  const memory = new MemoryThreads(now);
  const active = new ActiveRuns();
  const outputs = new LiveOutputs();
  const profiles = store?.profiles ?? new MemoryProfiles(now);
  const boundTo = (bounds: Bounds): RunParts => ({
    resolver,
    // What lives in memory answers always.
    records: store === undefined ? memory : boundRecords(store, bounds),
    profiles,
    streams: streams === undefined ? undefined : boundStreams(streams, bounds),
    active,
    outputs,
    clock,
    ids,
    log,
    cancelGraceMs,
    limits,
    bounds,
    closing,
    boundTo,
  });
  return boundTo(new Bounds({ signal: closing, clock, limits, graceMs: cancelGraceMs }));
}

/** A plugin that does not close is left behind. */
async function closePlugins(plugins: OpenPlugins, clock: Clock, log: Log): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopTimer = clock.timer(CLOSE_MS, () => {
    log.error("the runtime was closed, but not all of its plugins");
    resolve();
  });
  void plugins.close().then(resolve);
  await promise;
  stopTimer();
}

const INITIALIZING: Work = { limit: "initializeMs", onAbort: "leave", name: () => "a plugin that the runtime initializes" };

/** Until everything is open, nothing is said to be missing. */
async function initialize({ bounds, closing }: RunParts, { registry, resolver, plugins }: OpenRegistry): Promise<void> {
  if (closing.aborted) throw new AwakenError("cancelled", "the runtime is closed");
  const opening = plugins.open(registry.snapshot().registries.plugins.values());
  if (opening !== undefined) await bounds.wait(opening, INITIALIZING);
  resolver.settle();
}

/** Whatever a run does not end for, the runtime is closed: what is left behind of it reaches nobody. */
async function close({ active, log, clock, cancelGraceMs }: RunParts, plugins: OpenPlugins): Promise<void> {
  const runs = active.all();
  for (const run of runs) run.cancel("the runtime was closed");
  const { promise, resolve } = Promise.withResolvers<void>();
  const stopTimer = clock.timer(cancelGraceMs + CLOSE_MS, resolve);
  void Promise.all(runs.map((run) => run.released)).then(() => resolve());
  await promise;
  stopTimer();
  await closePlugins(plugins, clock, log);
  const left = active.all();
  if (left.length > 0) log.error(`the runtime was closed, but these runs did not end: ${left.map((run) => run.runId).join(", ")}`);
}

/** The runtime: registries and runs, and nothing global. */
export function createRuntime(given: RuntimeInit): Runtime {
  const problems = new Problems();
  const init = readInit(given, problems);
  const closing = new AbortController();
  const opened = openRegistry(init, problems, closing.signal);
  const { registry, resolver } = opened;
  const parts = openParts(init, resolver, closing.signal);
  return {
    registry,
    resolver,
    store: init.store,
    initialize: () => initialize(parts, opened),
    run: async (request) => startRequest(parts, request).result,
    stream: (request) => openStream(parts, request),
    decide: (ticket, decision) => decide(parts, [{ ticket, decision }]),
    decideAll: (decisions) => decide(parts, decisions),
    reconcile: (target, finding) => reconcile(parts, target, finding),
    wait: (id, options) => wait(parts, id, options),
    resume: (id) => resume(parts, id),
    cancel: (id) => cancel(parts, id),
    cancelAndWait: (id, options) => cancelAndWait(parts, id, options),
    send: (id, input) => send(parts, id, input),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await close(parts, opened.plugins);
    },
  };
}
