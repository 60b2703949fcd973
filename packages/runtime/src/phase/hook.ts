import type {
  Decision,
  HookPhase,
  JsonObject,
  JsonValue,
  Message,
  RunIdentity,
  ScopeId,
  Suspension,
  Termination,
  ToolCall,
  ToolDescriptor,
  ToolResult,
  Turn,
} from "@awaken/contract";
import type { LocalAgentSpec } from "@awaken/contract/spec";
import type { ProfileAccess } from "../state/profile.ts";
import type { StateReader } from "../state/snapshot.ts";
import type { Clock } from "../stream/clock.ts";
import type { Command } from "./command.ts";

/** What stays the same for all hooks of one phase. */
export interface RunScene {
  /** The agent that has the run now; another one after a handoff. */
  readonly agent: LocalAgentSpec;
  /** The tenant that the run is of; `default` where there is only one. */
  readonly scopeId: ScopeId;
  /** Which run this is, and where it came from. */
  readonly identity: RunIdentity;
  /** On whose behalf the run acts, as whoever started it said; the same however often it is resumed, and by whom. No event tells it. */
  readonly principal: JsonObject | undefined;
  /** What the client sent beside its messages, if anything: its own word, which nobody has checked. */
  readonly extras: JsonObject | undefined;
  /** The conversation so far; in a tool round also the assistant message and the results that exist. */
  readonly messages: readonly Message[];
  /** The tools that the agent has, sorted by id, before anything is hidden from the model. One list until another agent takes over. */
  readonly tools: readonly ToolDescriptor[];
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Time as the runtime knows it: in tests it may stand still. */
  readonly clock: Clock;
  /** Data that outlives threads. */
  readonly profile: ProfileAccess;
}

/** Where the scene is read when a phase runs: agent and messages change over a run. */
export interface Seat {
  readonly scene: RunScene;
}

export interface HookScene extends RunScene {
  /** The state as it was when the phase began. */
  readonly state: StateReader;
}

/** Of a call that was suspended and has been decided. */
export interface ResumedCall {
  /** What the call asked for. */
  readonly suspension: Suspension;
  /** What was decided about it, and by whom. */
  readonly decision: Decision;
}

export interface CallFacts {
  /** The call, with the input that it runs with. */
  readonly call: ToolCall;
  /** Set when the call was suspended and has been decided. */
  readonly resume: ResumedCall | undefined;
}

export interface StepFacts {
  /** Counted from the beginning of the run. */
  readonly step: number;
}

/** What each phase knows beside the scene. */
export interface PhaseFacts {
  /** Once for each activation of the run. */
  runStart: {
    /** Whether the run was suspended or cut off before, and goes on. */
    readonly isContinuation: boolean;
  };
  /** Before the prompt of the step is made. */
  stepStart: StepFacts;
  /** The last moment to change what the model is asked. */
  beforeInference: StepFacts;
  /** A failed inference is told too: `turn.stopReason` is then "error". */
  afterInference: StepFacts & {
    /** What the model answered. */
    readonly turn: Turn;
    /** Ids of the tools that the model could have called. */
    readonly offeredTools: readonly string[];
  };
  /** The call was let through, and its tool has not begun. */
  beforeToolExecute: CallFacts;
  /** The call has its result, whatever it is; the model has not read it. */
  afterToolExecute: CallFacts & {
    /** What the model will read of the call. */
    readonly result: ToolResult;
  };
  /** All calls of the step have their results. */
  stepEnd: StepFacts;
  /** Whatever ended the activation. */
  runEnd: {
    /** How it ended; `suspended` when the run waits. */
    readonly termination: Termination;
  };
}

export type HookInput<P extends HookPhase> = RunScene &
  PhaseFacts[P] & {
    /** The state as it was when the phase began. It does not move while hooks run. */
    readonly state: StateReader;
    /** Which phase this is. */
    readonly phase: P;
  };

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
