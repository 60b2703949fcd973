import type { Adapter, JsonValue, RunMode, ToolCall } from "@awaken/contract";
import type { HookScene, ResumedCall } from "../phase/hook.ts";
import type { ToolKind } from "./tool-kind.ts";
import type { Verdict } from "./verdict.ts";

export interface GateInput extends HookScene {
  readonly phase: "toolGate";
  /** The call that is decided about. */
  readonly call: ToolCall;
  /** What kind of tool it is, as it says itself or by its id. */
  readonly toolKind: ToolKind;
  /** Set when the call was suspended and has been decided: a gate that asked before lets an approved call pass now. */
  readonly resume: ResumedCall | undefined;
}

/** Must be pure: the same call may be gated twice in a step. */
export type Gate = (input: GateInput) => Verdict | undefined | void | Promise<Verdict | undefined | void>;

/** What a plugin registered. */
export type GateEntry = { readonly plugin: string } & ({ readonly gate: Gate } | { readonly policy: Policy });

/** The flat facts that a policy decides on. */
export interface PolicyInput {
  /** The thread of the run. */
  readonly threadId: string;
  /** The run that calls. */
  readonly runId: string;
  /** The entry of the queue that it was taken from. */
  readonly dispatchId: string | undefined;
  /** Whether somebody waits for the run. */
  readonly runMode: RunMode;
  /** The protocol that the run came in by. */
  readonly adapter: Adapter;
  /** The tool that is called. */
  readonly toolName: string;
  /** What kind of tool it is, as it says itself or by its id. */
  readonly toolKind: ToolKind;
  /** What it is called with. */
  readonly input: JsonValue;
}

/** As a verdict; `audit` looks on and lets pass. */
export type Policy = (input: PolicyInput) => Verdict | { readonly type: "audit" } | Promise<Verdict | { readonly type: "audit" }>;
