import type { AgentEvent } from "@awaken/contract";

/** What happens on a thread or in a run. The last event of each commit has the place to go on from. */
export type AttachedEvent = AgentEvent & {
  /** Give it as `after` to go on behind this event, in whatever process. */
  readonly cursor?: string;
};

export interface AttachOptions {
  /** The last cursor that was seen: what came before it does not come again. Without it everything that is kept comes first. */
  readonly after?: string;
  /** `now` leaves out what is on record when the iteration begins. Default `start`. With `after` it says nothing. */
  readonly from?: "start" | "now";
  /** Called once, when all that is on record was told and the next event is one that has to happen. */
  readonly onCaughtUp?: () => void;
  /** Ends the iteration. */
  readonly signal?: AbortSignal;
}
