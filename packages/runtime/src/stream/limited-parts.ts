import type { ErrorCode } from "@awaken/contract";
import type { Clock } from "./clock.ts";
import type { SilenceWatch } from "./silence-watch.ts";

/** How long the code of others may keep a run waiting, in milliseconds. `Infinity` is no limit. */
export interface Limits {
  /** The hooks of one phase, together. Default 2 minutes. */
  readonly hookMs: number;
  /** One gate or policy, or the `approve` of a tool. Default 1 minute. */
  readonly gateMs: number;
  /** The handler of one action. Default 2 minutes. */
  readonly actionMs: number;
  /** The handler of one effect. Default 1 minute. */
  readonly effectMs: number;
  /** One asynchronous schema: input and output of a tool, the answer of a run. Default 30 seconds. */
  readonly schemaMs: number;
  /** One request to the store. Default 1 minute. */
  readonly storeMs: number;
  /** The plugins that connect to something, all together. Default 2 minutes. */
  readonly initializeMs: number;
}

/** Why nobody waits any longer. */
export type Cut = "cancelled" | "late";

/**
 * What the abort of the run means for work that is under way, or begins after it. `leave`: nothing that it gives counts any more.
 * `finish`: it has a moment, so that what it gives is kept. `grace`: it closes what was begun, and has what is left of the grace, but
 * never less than that moment. `record`: it puts the end on record, and has a time of its own.
 */
export type OnAbort = "leave" | "finish" | "grace" | "record";

/** What is waited for: its limit, and its name in an error. */
export interface Work {
  readonly limit: keyof Limits;
  readonly onAbort: OnAbort;
  readonly name: () => string;
  /** Of the error. Default `timeout`, after an abort `cancelled`. */
  readonly code?: ErrorCode;
}

export interface BoundsInit {
  readonly clock: Clock;
  readonly limits: Limits;
  /** After the abort: how long all that closes the run may take together. */
  readonly cancelGraceMs: number;
  /** Who looks for silence of streams, for all runs. */
  readonly silence?: SilenceWatch;
}

/** Something that is waited for. */
export interface Watch {
  /** Called once when the run is aborted, unless it left before. */
  aborted(): void;
}

/** What has a limit of all that one run waits for: `limited.ts`. */
export interface Limited {
  watch(work: Work, fire: (why: Cut) => void): () => void;
  /** Leaves no timer behind. */
  rest(): void;
}

/** What one run waits for, as `limited.ts` knows it. */
export interface Limiting {
  readonly init: BoundsInit;
  /** Undefined before something with a limit was waited for. */
  limited: Limited | undefined;
  add(watch: Watch): void;
  leave(watch: Watch): void;
}
