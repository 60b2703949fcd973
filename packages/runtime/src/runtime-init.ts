import { AwakenError, describeType, isJsonObject, type Log, type Names, optionProblems, reading, type ScopedStore } from "@awaken/contract";
import type { RegistryInit } from "./registry/create-registry-set.ts";
import type { Problems } from "./registry/problems.ts";
import type { AnyStateKey } from "./state/key.ts";
import { isLimits, LIMIT_NAMES, type Limits } from "./stream/bounds.ts";
import type { Clock } from "./stream/clock.ts";
import type { Ids } from "./stream/ids.ts";

export interface RuntimeInit extends RegistryInit {
  /** State keys that every agent has, so that tools and hooks can use them without a plugin that registers them. */
  readonly state?: readonly AnyStateKey[];
  /** Where threads, runs, their state and profiles live. Without one they live in memory, as long as the runtime. */
  readonly store?: ScopedStore;
  /** Keeps answers in the store while they are streamed, so that a resumed run goes on in mid-sentence. Default false. */
  readonly streamCheckpoints?: boolean;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly log?: Log;
  /** After a cancel: how long a tool may take to stop by itself. Default 30 s. */
  readonly cancelGraceMs?: number;
  /** How long hooks, gates, handlers, schemas and the store may keep a run waiting. Each has a default. */
  readonly limits?: Partial<Limits>;
  /** False leaves wrong agents to be found when they are run. Default true: every agent is resolved once, here. */
  readonly checked?: boolean;
}

const OPTIONS: Names<RuntimeInit> = {
  providers: true,
  models: true,
  pools: true,
  agents: true,
  tools: true,
  plugins: true,
  backends: true,
  state: true,
  store: true,
  streamCheckpoints: true,
  clock: true,
  ids: true,
  log: true,
  cancelGraceMs: true,
  limits: true,
  checked: true,
};

const CREATE = "createRuntime";

const refusal = (message: string): AwakenError => new AwakenError("config_validation_failed", `config validation failed: ${message}`);

const isPart = (part: unknown, ...methods: readonly string[]): boolean =>
  typeof part === "object" && part !== null && methods.every((method) => typeof Reflect.get(part, method) === "function");

const isKey = (key: unknown): boolean => isPart(key, "apply", "initial") && typeof Reflect.get(Object(key), "name") === "string";

/** What a value must be, for options that are no registry: those check their entries themselves. */
const PARTS: {
  readonly [Name in Exclude<keyof RuntimeInit, keyof RegistryInit>]: readonly [what: string, isRight: (value: unknown) => boolean];
} = {
  state: ["a list of keys made with defineState", (value) => Array.isArray(value) && value.every(isKey)],
  store: ["a store", (value) => isPart(value, "commit", "transaction")],
  streamCheckpoints: ["true or false", (value) => typeof value === "boolean"],
  clock: ["a clock", (value) => isPart(value, "now", "timer")],
  ids: ["a function that gives ids", (value) => typeof value === "function"],
  log: ["a log with warn and error", (value) => isPart(value, "warn", "error")],
  cancelGraceMs: ["a number of milliseconds", (value) => typeof value === "number" && value >= 0],
  limits: [`milliseconds above 0 by the names ${LIMIT_NAMES.join(", ")}`, isLimits],
  checked: ["true or false", (value) => typeof value === "boolean"],
};

/** A copy of what was given, without what is wrong: that is told with all the rest. Throws when it is no options object at all. */
export function readInit(given: RuntimeInit, problems: Problems): RuntimeInit {
  return reading("config_validation_failed", `the options of ${CREATE}`, () => {
    const wrong = optionProblems(CREATE, given, OPTIONS);
    if (!isJsonObject(given)) throw refusal(wrong.join("; "));
    problems.add(...wrong.map(refusal));
    const init = { ...given };
    for (const [name, [what, isRight]] of Object.entries(PARTS)) {
      const value: unknown = Reflect.get(init, name);
      if (value === undefined || isRight(value)) continue;
      problems.add(refusal(`option '${name}' must be ${what}, got ${describeType(value)}`));
      Reflect.deleteProperty(init, name);
    }
    return init;
  });
}
