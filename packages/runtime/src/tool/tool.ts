import type { JsonValue, ToolCallProgress, ToolDescriptor, ToolResult, Validated } from "@awaken/contract";
import type { Command } from "../phase/command.ts";
import type { HookScene, ResumedCall } from "../phase/hook.ts";
import type { AnyStateKey } from "../state/key.ts";
import type { Bounds } from "../stream/bounds.ts";
import type { RunAgent } from "./child-result.ts";
import type { SendMessage } from "./messages.ts";
import type { Tasks } from "./tasks.ts";
import type { ToolKind } from "./tool-kind.ts";
import type { Verdict } from "./verdict.ts";

export interface ProgressReport {
  /** 0 to 1. */
  readonly progress?: number;
  /** How much is done, in any unit. */
  readonly loaded?: number;
  /** Of how much. */
  readonly total?: number;
  /** What is being done, for people. */
  readonly message?: string;
  /** Default `running`. */
  readonly status?: ToolCallProgress["status"];
}

/** What a running tool knows and may say. Reports reach live listeners and are no-ops when nobody listens. */
export interface ToolContext extends HookScene {
  /** Of this call. Some models repeat it in every turn: what has to be unique is `idempotencyKey`. */
  readonly callId: string;
  /** The id of the tool. */
  readonly toolName: string;
  /** The same for every attempt of this call, in any process: hand it to the API that has the side effect. */
  readonly idempotencyKey: string;
  /** The decision that resumed the call, if it was suspended. */
  readonly resume: ResumedCall | undefined;
  /** Starts a run of another agent for this call, and waits for it. */
  readonly runAgent: RunAgent;
  /** Work in the background of this thread. */
  readonly tasks: Tasks;
  /** Says something to another agent. */
  readonly sendMessage: SendMessage;
  /** How far it is, for whoever watches. */
  progress(report: ProgressReport): void;
  /** News of a kind of the tool's own, for whoever watches. */
  activity(type: string, content: JsonValue): void;
  /** Streams output to listeners while the tool runs; the result still comes at the end. */
  output(delta: string): void;
}

/** What a tool's code gives for one call. */
export interface ToolReply {
  /** What the model and the log get. */
  readonly result: ToolResult;
  /** Committed together with the result. */
  readonly command: Command | undefined;
}

/** After a crash nobody knows whether the effect happened; the tool finds out. */
export type Reconciled =
  | {
      readonly type: "done";
      /** What the call gave. */
      readonly data: JsonValue;
    }
  | { readonly type: "not-done" }
  | { readonly type: "unknown" };

/** One call with its input checked. The tool's types stay inside. An object with methods: to be wrapped, not to be spread. */
export interface PreparedCall {
  /** The input as the schema gave it, for tickets and logs. */
  readonly input: JsonValue;
  /** Asks the tool's own gate. */
  approve(scene: HookScene): Promise<Verdict>;
  /** Does the work. What it throws is a failed result. */
  execute(context: ToolContext): Promise<ToolReply>;
  /** Asks the tool what became of a call that was cut off. */
  reconcile(context: ToolContext): Promise<Reconciled>;
}

/** How a tool behaves when it is repeated. */
export interface ToolTraits {
  /** What gates and policies decide by. */
  readonly kind: ToolKind;
  /** `client`: whoever started the run executes it, and its answer is the result. */
  readonly runsAt: "server" | "client";
  /** Found while the program runs, not declared by it. */
  readonly dynamic: boolean;
  /** Running it twice with one key does it once: after a crash it is simply run again. */
  readonly idempotent: boolean;
  /** It changes nothing outside: no claim is written before it runs. */
  readonly pure: boolean;
  /** Whether it has a gate of its own. */
  readonly canApprove: boolean;
  /** Whether it can find out what became of a call that was cut off. */
  readonly canReconcile: boolean;
  /** How long a call may take. */
  readonly timeoutMs: number | undefined;
}

export interface Tool {
  /** The name by which the model calls it. */
  readonly id: string;
  /** Read once for all runs of an agent that is not changed. */
  readonly descriptor: ToolDescriptor;
  /** What the runtime has to know before it calls. */
  readonly traits: ToolTraits;
  /** State keys that come with the tool. Tools may share one key; two keys of one name are a mistake. */
  readonly state?: readonly AnyStateKey[];
  /** `bounds` say how long the call's own schemas may take. */
  prepare(input: JsonValue, bounds?: Bounds): Validated<PreparedCall> | Promise<Validated<PreparedCall>>;
}
