import type { JsonValue, ToolDescriptor, ToolResult, Validated } from "@awaken/contract";
import type { Command } from "../phase/command.ts";
import type { HookScene, ResumedCall } from "../phase/hook.ts";
import type { AnyStateKey } from "../state/key.ts";
import type { Bounds } from "../stream/bounds.ts";
import type { ToolKind } from "./tool-kind.ts";
import type { Verdict } from "./verdict.ts";

export interface ProgressReport {
  /** 0 to 1. */
  readonly progress?: number;
  readonly loaded?: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a running tool knows and may say. Reports reach live listeners and are no-ops when nobody listens. */
export interface ToolContext extends HookScene {
  readonly callId: string;
  readonly toolName: string;
  /** The same for every attempt of this call, in any process: hand it to the API that has the side effect. */
  readonly idempotencyKey: string;
  /** The decision that resumed the call, if it was suspended. */
  readonly resume: ResumedCall | undefined;
  progress(report: ProgressReport): void;
  activity(type: string, content: JsonValue): void;
  /** Streams output to listeners while the tool runs; the result still comes at the end. */
  output(delta: string): void;
}

/** What a tool's code gives for one call. */
export interface ToolReply {
  readonly result: ToolResult;
  readonly command: Command | undefined;
}

/** After a crash nobody knows whether the effect happened; the tool finds out. */
export type Reconciled = { readonly type: "done"; readonly data: JsonValue } | { readonly type: "not-done" } | { readonly type: "unknown" };

/** One call with its input checked. The tool's types stay inside. An object with methods: to be wrapped, not to be spread. */
export interface PreparedCall {
  /** The input as the schema gave it, for tickets and logs. */
  readonly input: JsonValue;
  approve(scene: HookScene): Promise<Verdict>;
  execute(context: ToolContext): Promise<ToolReply>;
  reconcile(context: ToolContext): Promise<Reconciled>;
}

/** How a tool behaves when it is repeated. */
export interface ToolTraits {
  readonly kind: ToolKind;
  /** Running it twice with one key does it once: after a crash it is simply run again. */
  readonly idempotent: boolean;
  /** It changes nothing outside: no claim is written before it runs. */
  readonly pure: boolean;
  readonly canApprove: boolean;
  readonly canReconcile: boolean;
  readonly timeoutMs: number | undefined;
}

export interface Tool {
  readonly id: string;
  /** Read once for all runs of an agent that is not changed. */
  readonly descriptor: ToolDescriptor;
  readonly traits: ToolTraits;
  /** State keys that come with the tool. Tools may share one key; two keys of one name are a mistake. */
  readonly state?: readonly AnyStateKey[];
  /** `bounds` say how long the call's own schemas may take. */
  prepare(input: JsonValue, bounds?: Bounds): Validated<PreparedCall> | Promise<Validated<PreparedCall>>;
}
