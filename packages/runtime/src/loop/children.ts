import type {
  AgentEvent,
  AgentUsage,
  BackendResult,
  ChildRun,
  DelegatePersistence,
  JsonObject,
  RunId,
  RunOutcome,
  Ticket,
  ToolCallId,
  Usage,
} from "@awaken/contract";
import type { Late } from "../stream/door.ts";
import type { CallReport } from "./step-progress.ts";

/** A run to be started for a call of this one. */
export interface ChildOrder {
  readonly agentId: string;
  readonly input: string;
  readonly state: JsonObject | undefined;
  /** Undefined: as the runtime has it. */
  readonly policy: DelegatePersistence | undefined;
  /** The same for every attempt of the call: its id follows from it. */
  readonly key: string;
  /** The record says that no attempt of the call came before: nobody has started it. */
  readonly isFirst: boolean;
  readonly toolCallId: ToolCallId;
  /** The span of the call. Undefined: what the run that starts it belongs to. */
  readonly traceParent: string | undefined;
  /** Aborted when the call is to stop. */
  readonly signal: AbortSignal;
  /** It is known which run it is, and it is about to begin. */
  begun(child: ChildRun): void;
  /** What happens in it, while it runs here. Undefined: nobody reads along. */
  readonly hear: ((event: AgentEvent) => void) | undefined;
  /** The same, only while somebody follows the run that starts it. */
  pass(event: AgentEvent, child: RunId): void;
  /** How far one is that runs elsewhere. */
  report(event: CallReport): void;
}

/** What became of a child, as far as it is known. */
export interface ChildEnd {
  readonly child: ChildRun;
  readonly result: BackendResult;
  /** Undefined while it is not over. */
  readonly ending: { readonly outcome: RunOutcome; readonly usage: Usage } | undefined;
  /** It has records of its own: when it waits, it can be waited for. */
  readonly isDurable: boolean;
  /** What it and those below it used, as far as no record says so. */
  readonly unrecorded: readonly AgentUsage[];
  /** The same of what records say. Undefined: they have to be read. */
  readonly recorded: readonly AgentUsage[] | undefined;
}

/** The runs that a run starts. Handed down: whoever starts runs stands above the loop. */
export interface Children {
  /** Throws when there is no such agent, or it cannot be asked for what it is asked. */
  run(order: ChildOrder): Promise<ChildEnd>;
  /** Whatever they are read with may have to be loaded first. */
  ready(): Late<unknown>;
  /** A durable child by its id; undefined while it is not over. */
  find(id: RunId): Promise<ChildEnd | undefined>;
  /** What all runs below this one wait for. */
  tickets(): Promise<readonly Ticket[]>;
}
