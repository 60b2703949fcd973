import { AwakenError, consoleLog, type Log, type ScopedStore } from "@awaken/contract";
import { PoolCache } from "./inference/pool/pool-cache.ts";
import { createRegistrySet, type RegistryInit } from "./registry/create-registry-set.ts";
import { validateRegistry } from "./registry/diagnostics.ts";
import { RegistryHandle } from "./registry/registry-handle.ts";
import { createResolver, type Resolver } from "./resolve/resolver.ts";
import { ActiveRuns } from "./run/active-runs.ts";
import { cancel, cancelAndWait, resume, send, type WaitOptions, wait } from "./run/control.ts";
import { decide } from "./run/decide.ts";
import type { DecisionInput, TicketDecision } from "./run/decision-input.ts";
import { MemoryThreads } from "./run/memory-threads.ts";
import type { RunParts } from "./run/run-parts.ts";
import type { RunRequest } from "./run/run-request.ts";
import type { RunResult } from "./run/run-result.ts";
import { openStream, type RunStream } from "./run/run-stream.ts";
import { startRequest } from "./run/stream-run.ts";
import { runtimePlugins } from "./runtime-plugins.ts";
import { type Clock, systemClock } from "./stream/clock.ts";
import { type Ids, uuidIds } from "./stream/ids.ts";
import { type ToolList, toTools } from "./tool/foreign-tool.ts";

export interface RuntimeInit extends Omit<RegistryInit, "tools"> {
  /** A list of ours, or by name with AI SDK tools among them. */
  readonly tools?: ToolList;
  /** Where threads, runs and their state live. Without one they live in memory, as long as the runtime; profiles need one. */
  readonly store?: ScopedStore;
  /** Keeps answers in the store while they are streamed, so that a resumed run goes on in mid-sentence. Default false. */
  readonly streamCheckpoints?: boolean;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly log?: Log;
  /** After a cancel: how long a tool may take to stop by itself. Default 30 s. */
  readonly cancelGraceMs?: number;
  /** False leaves wrong agents to be found when they are run. Default true: every agent is resolved once, here. */
  readonly checked?: boolean;
}

/** The verbs. Everything that is asked of runs goes through here. */
export interface Runtime extends AsyncDisposable {
  readonly registry: RegistryHandle;
  /** Reads the registry as it is at each call. */
  readonly resolver: Resolver;
  /** As it was given. */
  readonly store: ScopedStore | undefined;
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
  /** The result of a run, when it is over or waits; of one that another process executes it is asked for again and again. */
  wait(runId: string, options?: WaitOptions): Promise<RunResult>;
  /** Goes on with a run that was cut off: its record says running, and nobody executes it. */
  resume(runId: string): Promise<RunResult>;
  /** By run id or thread id. True when a run was told to stop: an active one is told at once; one that waits is ended. */
  cancel(id: string): Promise<boolean>;
  /** The same, and waits up to 5 s, or as told, until the thread is free. */
  cancelAndWait(id: string, options?: { readonly timeoutMs?: number }): Promise<boolean>;
  /** Messages for a run that is active, read after its current step at the earliest. False when there is none. */
  send(id: string, input: RunRequest["input"]): boolean;
}

/** A pool has somewhere else to go: it leaves a member before the retries of one inference are spent. */
const POOL_FAILURES = 2;
const CANCEL_WAIT_MS = 5_000;
const CANCEL_GRACE_MS = 30_000;

/** Resolves every agent once, so that a mistake in any of them is told at the start and all at once. */
function checkAgents(resolver: Resolver): void {
  const resolution = resolver.open();
  const problems = [...resolution.snapshot.registries.agents.values()].flatMap((agent) => {
    if (agent.type === "remote") return [];
    try {
      resolution.resolve(agent.id);
      return [];
    } catch (thrown) {
      return [`${agent.id}: ${thrown instanceof Error ? thrown.message : String(thrown)}`];
    }
  });
  if (problems.length > 0) throw new AwakenError("resolve_failed", `agent validation failed: ${problems.join("; ")}`);
}

function openParts(init: RuntimeInit, registry: RegistryHandle, closing: AbortSignal): RunParts {
  const ids = init.ids ?? uuidIds;
  const clock = init.clock ?? systemClock;
  const log = init.log ?? consoleLog;
  const resolver = createResolver({
    snapshot: () => registry.snapshot(),
    log,
    pools: new PoolCache({ clock, log, breakerPolicy: { failureThreshold: POOL_FAILURES } }),
    runtimePlugins: runtimePlugins({ ids, log }),
    knownSections: ["compaction", "context_transform", "knowledge_cutoff_context"],
  });
  if (init.checked !== false) checkAgents(resolver);
  return {
    resolver,
    records: init.store ?? new MemoryThreads(() => clock.now()),
    profiles: init.store?.profiles,
    streams: init.streamCheckpoints === true ? init.store?.streamCheckpoints : undefined,
    active: new ActiveRuns(),
    clock,
    ids,
    log,
    cancelGraceMs: init.cancelGraceMs ?? CANCEL_GRACE_MS,
    closing,
  };
}

/** The runtime: registries and runs, and nothing global. */
export function createRuntime(init: RuntimeInit): Runtime {
  const set = createRegistrySet({ ...init, tools: toTools(init.tools ?? []) });
  validateRegistry(set);
  const registry = new RegistryHandle(set);
  const closing = new AbortController();
  const parts = openParts(init, registry, closing.signal);
  return {
    registry,
    resolver: parts.resolver,
    store: init.store,
    run: async (request) => startRequest(parts, request).result,
    stream: (request) => openStream(parts, request),
    decide: (ticket, decision) => decide(parts, [{ ticket, decision }]),
    decideAll: (decisions) => decide(parts, decisions),
    wait: (id, options) => wait(parts, id, options),
    resume: (id) => resume(parts, id),
    cancel: (id) => cancel(parts, id),
    cancelAndWait: (id, options) => cancelAndWait(parts, id, options?.timeoutMs ?? CANCEL_WAIT_MS),
    send: (id, input) => send(parts, id, input),
    async [Symbol.asyncDispose]() {
      closing.abort();
      const runs = parts.active.all();
      for (const run of runs) run.cancel("the runtime was closed");
      await Promise.all(runs.map((run) => run.released));
    },
  };
}
