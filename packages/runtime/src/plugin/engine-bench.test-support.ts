import {
  AwakenError,
  DEFAULT_SCOPE,
  type JsonValue,
  jsonValueSchema,
  type Log,
  type MergeRule,
  NO_USAGE,
  runId,
  type ToolCall,
  type Turn,
  threadId,
  toolCallId,
} from "@awaken/contract";
import { type LocalAgentSpec, parseAgentSpec } from "@awaken/contract/spec";
import * as z from "zod";
import { PhaseEngine, type PhaseEngineInit } from "../phase/engine.ts";
import type { RunScene } from "../phase/hook.ts";
import { type AnyStateKey, defineState, type StateInit } from "../state/key.ts";
import { schemas } from "../state/late-schema.ts";
import { createProfileAccess } from "../state/profile.ts";
import { runLifecycle } from "../state/run-lifecycle.ts";
import { StateStore } from "../state/store.ts";
import { Bounds, DEFAULT_LIMITS } from "../stream/bounds.ts";
import { compileEnv, type EnvInit } from "./compile-env.ts";
import { definePlugin, type Plugin } from "./define-plugin.ts";
import type { Registrar } from "./registrar.ts";

// Whoever reads stored state has loaded what reads it.
await schemas.open();

export interface RecordedLog extends Log {
  readonly warnings: string[];
  readonly errors: string[];
}

export function recordedLog(): RecordedLog {
  const warnings: string[] = [];
  const errors: string[] = [];
  return { warnings, errors, warn: (message) => warnings.push(message), error: (message) => errors.push(message) };
}

/** A number that updates add to. */
export const counter = (name: string, merge: MergeRule = "exclusive", more: Partial<StateInit<number, number>> = {}) =>
  defineState(name, { schema: z.number(), initial: () => 0, apply: (value, add: number) => value + add, merge, ...more });

/** Any JSON value; an update replaces it. */
export const slot = (name: string, more: Partial<StateInit<JsonValue, JsonValue>> = {}) =>
  defineState(name, { schema: jsonValueSchema, initial: (): JsonValue => null, apply: (_, next: JsonValue) => next, ...more });

/** A fresh store that knows these keys. */
export function storeOf(keys: readonly AnyStateKey[], log: Log = recordedLog()): StateStore {
  const store = new StateStore(log);
  store.register(keys);
  return store;
}

export function localAgent(id = "agent", spec: object = {}): LocalAgentSpec {
  const agent = parseAgentSpec(id, { model: "m", ...spec });
  if (agent.type !== "local") throw new Error("expected a local agent");
  return agent;
}

export function sceneOf(more: Partial<RunScene> = {}): RunScene {
  return {
    agent: localAgent(),
    scopeId: DEFAULT_SCOPE,
    identity: {
      threadId: threadId("t1"),
      runId: runId("r1"),
      agentId: "agent",
      origin: "user",
      runMode: "foreground",
      adapter: "internal",
    },
    principal: undefined,
    extras: undefined,
    messages: [],
    signal: new AbortController().signal,
    clock: { now: () => 1_000, timer: () => () => {} },
    tools: [],
    profile: createProfileAccess({ store: undefined, keys: new Map() }),
    ...more,
  };
}

export const plugin = (id: string, register: (registrar: Registrar) => void): Plugin => definePlugin({ id, register });

export interface BenchInit extends Omit<Partial<EnvInit>, "plugins"> {
  readonly plugins: readonly Plugin[];
  readonly scene?: Partial<RunScene>;
  readonly maxRounds?: number;
}

/** As a run without limits of its own has them. */
export const boundsOf = ({ signal, clock }: Pick<RunScene, "signal" | "clock">): Bounds =>
  new Bounds(signal, { clock, limits: DEFAULT_LIMITS, cancelGraceMs: 30_000 });

/** Plugins on a real store and a real engine, as a run has them. */
export function createBench({ scene, maxRounds, ...init }: BenchInit) {
  const log = recordedLog();
  const env = compileEnv(init);
  const store = storeOf([runLifecycle, ...env.stateKeys], log);
  const whole = sceneOf(scene);
  const engineInit: PhaseEngineInit = { store, table: env, seat: { scene: whole }, log, bounds: boundsOf(whole) };
  const engine = new PhaseEngine(maxRounds === undefined ? engineInit : { ...engineInit, maxRounds });
  return { log, env, store, engine };
}

export const turnOf = (text: string, more: Partial<Pick<Turn, "toolCalls" | "usage">> = {}): Turn => ({
  text,
  content: text === "" ? [] : [{ type: "text", text }],
  toolCalls: [],
  usage: NO_USAGE,
  model: "m",
  durationMs: 1,
  malformedCalls: [],
  stopReason: "end-turn",
  ...more,
});

export const failedTurn = (text = ""): Turn => ({
  ...turnOf(text),
  stopReason: "error",
  failure: { type: "overloaded", message: "try later" },
});

export const callOf = (name: string, input: JsonValue = {}, id = "c1"): ToolCall => ({ id: toolCallId(id), name, input });

/** What was thrown, as code and details; anything but one of our errors is thrown on. */
export async function thrownBy(work: () => unknown): Promise<AwakenError> {
  try {
    await work();
  } catch (thrown) {
    if (AwakenError.is(thrown)) return thrown;
    throw thrown;
  }
  throw new Error("expected an error, but nothing was thrown");
}

/** The error, after proof that the store is exactly as it was. */
export async function refusedBy(store: StateStore, work: () => unknown): Promise<AwakenError> {
  const before = { revision: store.revision, state: structuredClone(store.export("full")), snapshot: store.snapshot() };
  const error = await thrownBy(work);
  const after = { revision: store.revision, state: store.export("full"), snapshot: store.snapshot() };
  if (JSON.stringify(before) !== JSON.stringify(after) || before.snapshot !== after.snapshot) {
    throw new Error(`the store was changed: ${JSON.stringify(before)} became ${JSON.stringify(after)}`);
  }
  return error;
}

export interface Latch {
  readonly opened: Promise<void>;
  open(): void;
}

/** Something to wait for. */
export function latch(): Latch {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: () => resolve() };
}
