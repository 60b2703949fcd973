import type {
  Decision,
  HookPhase,
  JsonValue,
  LocalAgentSpec,
  Message,
  RunIdentity,
  Suspension,
  Termination,
  ToolCall,
  ToolResult,
  Turn,
} from "@awaken/contract";
import type { ProfileAccess } from "../state/profile.ts";
import type { StateReader } from "../state/snapshot.ts";
import type { Clock } from "../stream/clock.ts";
import type { Command } from "./command.ts";

/** What stays the same for all hooks of one phase. */
export interface RunScene {
  readonly agent: LocalAgentSpec;
  readonly identity: RunIdentity;
  /** The conversation so far; in a tool round also the assistant message and the results that exist. */
  readonly messages: readonly Message[];
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly profile: ProfileAccess;
}

export interface HookScene extends RunScene {
  readonly state: StateReader;
}

/** Of a call that was suspended and has been decided. */
export interface ResumedCall {
  readonly suspension: Suspension;
  readonly decision: Decision;
}

export interface CallFacts {
  readonly call: ToolCall;
  readonly resume: ResumedCall | undefined;
}

/** What each phase knows beside the scene. */
export interface PhaseFacts {
  runStart: { readonly isContinuation: boolean };
  stepStart: { readonly step: number };
  beforeInference: { readonly step: number };
  /** A failed inference is told too: `turn.stopReason` is then "error". */
  afterInference: { readonly step: number; readonly turn: Turn; readonly offeredTools: readonly string[] };
  beforeToolExecute: CallFacts;
  afterToolExecute: CallFacts & { readonly result: ToolResult };
  stepEnd: { readonly step: number };
  runEnd: { readonly termination: Termination };
}

export type HookInput<P extends HookPhase> = RunScene & PhaseFacts[P] & { readonly state: StateReader; readonly phase: P };

/** Runs on one frozen snapshot together with the other hooks of its phase. May run again on a conflict, so it must be replay-safe. */
export type Hook<P extends HookPhase> = (input: HookInput<P>) => Command | undefined | void | Promise<Command | undefined | void>;

export interface HookEntry<P extends HookPhase> {
  readonly plugin: string;
  readonly hook: Hook<P>;
}

export type ActionHandler<P> = (payload: P, scene: HookScene) => Command | undefined | void | Promise<Command | undefined | void>;

/** A handler with its payload's type closed over: throws when the payload does not fit. */
export interface ActionEntry {
  readonly plugin: string;
  run(payload: JsonValue, scene: HookScene): Command | undefined | void | Promise<Command | undefined | void>;
}

export type EffectHandler<P> = (payload: P, scene: HookScene) => void | Promise<void>;

export interface EffectEntry {
  readonly plugin: string;
  run(payload: JsonValue, scene: HookScene): void | Promise<void>;
}

/** What the phase engine needs to know of the plugins. */
export interface PhaseTable {
  readonly hooks: { readonly [P in HookPhase]: readonly HookEntry<P>[] };
  readonly actions: ReadonlyMap<string, ActionEntry>;
  readonly effects: ReadonlyMap<string, EffectEntry>;
}
