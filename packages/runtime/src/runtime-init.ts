import { AwakenError, isJsonObject, type Log, optionProblems, type PartRules, partRule, RULES, reading } from "@awaken/contract";
import { DEFAULT_RETENTION, type Retention } from "@awaken/contract/store";
import type { MessageSink } from "./loop/message-sink.ts";
import type { NodeIdentity } from "./mailbox/node.ts";
import type { RegistryInit } from "./registry/create-registry-set.ts";
import type { Problems } from "./registry/problems.ts";
import type { RemoteAgentSource } from "./registry/remote-agents.ts";
import type { Resolver } from "./resolve/resolver.ts";
import type { RuntimeStore } from "./run/runtime-store.ts";
import { type AnyStateKey, isKeyList } from "./state/key.ts";
import { LIMIT_RULES, type Limits } from "./stream/bounds.ts";
import type { Clock } from "./stream/clock.ts";
import type { Ids } from "./stream/ids.ts";

export interface RuntimeInit extends RegistryInit {
  /** Where agents that run elsewhere are found, by `initialize()`: they are registered as `source/agent`. */
  readonly remoteAgents?: readonly RemoteAgentSource[];
  /** What says how agents run, in the place of the registry: it is asked for every agent. */
  readonly resolver?: Resolver;
  /** State keys that every agent has, so that tools and hooks can use them without a plugin that registers them. */
  readonly state?: readonly AnyStateKey[];
  /** Where threads, runs, their state and profiles of all tenants live. Without one they live in memory, as long as the runtime. */
  readonly store?: RuntimeStore;
  /** Keeps answers in the store while they are streamed, so that a resumed run goes on in mid-sentence. Default false. */
  readonly streamCheckpoints?: boolean;
  /** What tells time and sets timers. Default: the machine's; tests hand in one that stands still. */
  readonly clock?: Clock;
  /** Makes the ids of runs, messages and tickets. Default: random UUIDs that rise with time. */
  readonly ids?: Ids;
  /** Where warnings go. Default: the console. */
  readonly log?: Log;
  /** After a cancel: how long a tool may take to stop by itself. Default 30 s. */
  readonly cancelGraceMs?: number;
  /** How deep agents may ask other agents: each level multiplies what a run costs. Default 8. */
  readonly maxDelegationDepth?: number;
  /** Takes messages of agents (`send_message`) to other threads. Default: the queue of the store, or this process where there is none. */
  readonly messageSink?: MessageSink;
  /** `outbox`: messages are on record before they are delivered. `direct`: they are delivered during the call. Default: `outbox` with a store. */
  readonly messageDelivery?: "outbox" | "direct";
  /** How many background tasks may run at the same time on one thread. Default 64. */
  readonly maxRunningTasks?: number;
  /** How long hooks, gates, handlers, schemas and the store may keep a run waiting. Each has a default. */
  readonly limits?: Partial<Limits>;
  /**
   * Whether this process takes up what waits in the queue of the store, and what processes that are gone have left. Default: it does as long
   * as it lives; `true` keeps it alive for that. `false` for one that only starts runs, or has its own executed. A store without a queue has none.
   */
  readonly workers?: boolean;
  /** How many runs from the queue are executed at the same time. Default 10. */
  readonly concurrency?: number;
  /** After so long without a sign of life, a run is taken from the process that executes it. Default 30 s. */
  readonly leaseMs?: number;
  /** How often a run from the queue is tried before it is a dead letter. Default 5. */
  readonly maxAttempts?: number;
  /**
   * When runs have to be out of this process, in ms since 1970, or what tells it: for platforms that end a process after a while. From then
   * on nothing is claimed here, and what is at work goes back into the queue as it was committed last, at the cost of no attempt: an answer
   * that is being streamed is cut off (`streamCheckpoints` keeps what there is of it), a tool is waited for. Default: never.
   */
  readonly yieldBefore?: number | (() => number | undefined);
  /**
   * How long what is over stays in the store, where workers are on: what is past its time is deleted now and then. What is left out stays, and
   * `false` deletes nothing. Default `DEFAULT_RETENTION`. Threads, messages, runs and open work are never deleted.
   */
  readonly retention?: Retention | false;
  /** How other processes know this one. Default: a name that tells nothing; `awaken` hands in one that tells whether a process is gone. */
  readonly node?: NodeIdentity;
  /** False leaves wrong agents to be found when they are run. Default true: every agent is resolved once, here. */
  readonly checked?: boolean;
}

const KEPT: ReadonlySet<string> = new Set(Object.keys(DEFAULT_RETENTION));

const isRetention = (value: unknown): boolean =>
  isJsonObject(value) && Object.entries(value).every(([name, ms]) => KEPT.has(name) && (ms === undefined || RULES.millis.is(ms)));

const COUNT = partRule("a whole number above 0", (value) => Number.isSafeInteger(value) && Number(value) > 0);

/** Registries check their entries themselves. */
const OPTIONS: PartRules<RuntimeInit> = {
  providers: RULES.any,
  models: RULES.any,
  pools: RULES.any,
  agents: RULES.any,
  tools: RULES.any,
  plugins: RULES.any,
  backends: RULES.any,
  remoteAgents: RULES.list,
  resolver: RULES.withMethods("a resolver", "open", "agentIds"),
  state: partRule("a list of keys made with defineState", isKeyList),
  store: RULES.withMethods("a store", "commit", "transaction", "scoped"),
  streamCheckpoints: RULES.flag,
  clock: RULES.withMethods("a clock", "now", "timer"),
  ids: RULES.code,
  log: RULES.withMethods("a log", "warn", "error"),
  cancelGraceMs: RULES.millis,
  maxDelegationDepth: partRule("a whole number from 0", (value) => Number.isSafeInteger(value) && Number(value) >= 0),
  messageSink: RULES.code,
  messageDelivery: RULES.oneOf("outbox", "direct"),
  maxRunningTasks: COUNT,
  limits: partRule("an object", isJsonObject),
  workers: RULES.flag,
  concurrency: COUNT,
  leaseMs: partRule("milliseconds above 0", (value) => typeof value === "number" && Number.isFinite(value) && value > 0),
  maxAttempts: COUNT,
  yieldBefore: partRule("a time in ms since 1970, or a function that gives it", (value) =>
    typeof value === "number" ? Number.isFinite(value) : typeof value === "function",
  ),
  retention: partRule("false, or times to keep in ms", (value) => value === false || isRetention(value)),
  node: RULES.withMethods("an object with a name and isGone", "isGone"),
  checked: RULES.flag,
};

const CREATE = "createRuntime";

const refusal = (message: string): AwakenError => new AwakenError("config_validation_failed", `config validation failed: ${message}`);

/** A copy of what was given, without what is wrong: that is told with all the rest. Throws when it is no options object at all. */
export function readInit(given: RuntimeInit, problems: Problems): RuntimeInit {
  return reading("config_validation_failed", `the options of ${CREATE}`, () => {
    const wrong = optionProblems(CREATE, given, OPTIONS);
    if (!isJsonObject(given)) throw refusal(wrong.join("; "));
    problems.add(...wrong.map(refusal));
    const init: RuntimeInit = { ...given };
    const { limits } = init;
    if (isJsonObject(limits)) problems.add(...optionProblems(`limits of ${CREATE}`, limits, LIMIT_RULES).map(refusal));
    for (const [name, rule] of Object.entries(OPTIONS)) {
      const value: unknown = Reflect.get(init, name);
      if (value !== undefined && !rule.is(value)) Reflect.deleteProperty(init, name);
    }
    if (init.streamCheckpoints === true && init.store !== undefined && init.store.streamCheckpoints === undefined) {
      problems.add(refusal("streamCheckpoints is asked for, and the store keeps none"));
    }
    return init;
  });
}
