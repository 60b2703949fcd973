import type { AgentEvent } from "@awaken/contract";

/** What happens on a thread or in a run. The last event of each commit has the place to go on from. */
export type AttachedEvent = AgentEvent & {
  /** Give it as `after` to go on behind this event, in whatever process. */
  readonly cursor?: string;
};

/** Follows from its first `next` on, and until `return`. */
export interface AttachedIterator extends AsyncIterator<AttachedEvent, undefined> {
  /** An event that is there already; undefined when the next one has to be waited for, or nothing comes any more. */
  take(): AttachedEvent | undefined;
  /** Ends it. */
  return(): Promise<IteratorResult<AttachedEvent, undefined>>;
}

/** What `attach` gives: each iteration follows anew. */
export interface AttachedEvents extends AsyncIterable<AttachedEvent> {
  [Symbol.asyncIterator](): AttachedIterator;
}

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
