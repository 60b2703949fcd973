import type { Log } from "@awaken/contract";
import type { Clock } from "../../stream/clock.ts";

/** What the background work of all threads needs. */
export interface TableInit {
  readonly clock: Clock;
  readonly log: Log;
  /** How many may run at the same time on one thread. */
  readonly maxRunning: number;
  /** This process, as others know it. */
  readonly host: string;
  /** Whether the process of this name is known to be gone. */
  isGone(host: string): boolean;
  readonly closing: AbortSignal;
}
